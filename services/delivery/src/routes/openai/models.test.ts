import { describe, expect, test } from "vitest";
import { call, createGeneration, KEYS, openPlatform } from "../../testing/platform.ts";

const SLASHED = "meta-llama/Llama 3";

describe("a model", () => {
  test("is what the list has of it, also by a name with a slash, encoded or not", async () => {
    await using platform = await openPlatform({ models: new Set(["sim", SLASHED]) });
    const at = `${platform.node.url}/v1/models`;
    const { json } = await call(at);
    const { data } = json as { data: { id: string }[] };
    expect(json).toMatchObject({ object: "list" });
    expect(data).toEqual(
      [SLASHED, "sim"].map((id) => ({ id, object: "model", created: 0, owned_by: "reprise" })),
    );
    for (const path of [encodeURIComponent(SLASHED), encodeURI(SLASHED)])
      expect(await call(`${at}/${path}`)).toMatchObject({ status: 200, json: data[0] });
    expect((await call(`${at}/sim`, { key: KEYS.acmeReader })).json).toEqual(data[1]);
  });

  test("is told to stream tokens that create, and of a template's its own alone; spectators are told of none", async () => {
    await using platform = await openPlatform({ models: new Set(["sim", SLASHED]) });
    const { url } = platform.node;
    const { path } = await createGeneration(platform);
    const tokenOf = async (at: string, body: object) => {
      const { status, json } = await call(`${url}${at}`, { body });
      expect(status).toBe(201);
      return (json as { token: string }).token;
    };
    const user = { end_user: "ann", scopes: ["create"] };
    const creator = await tokenOf("/v1/tokens", user);
    const bound = await tokenOf("/v1/tokens", { ...user, template: { model: "sim" } });
    const reader = await tokenOf("/v1/tokens", { ...user, scopes: ["read"] });
    const spectator = await tokenOf(`${path}/tokens`, { scopes: ["read"] });
    const list = async (key: string) => {
      const { status, json } = await call(`${url}/v1/models`, { key });
      return [status, (json as { data?: { id: string }[] }).data?.map(({ id }) => id)];
    };
    expect(await list(creator)).toEqual([200, [SLASHED, "sim"]]);
    expect(await list(bound)).toEqual([200, ["sim"]]);
    for (const key of [reader, spectator]) {
      expect(await list(key)).toEqual([403, undefined]);
      expect((await call(`${url}/v1/models/sim`, { key })).status).toBe(403);
    }
  });

  test("that does not exist, or that the tenant must not use, is an error of OpenAI's form", async () => {
    const key = "rk_few_0123456789abcdef";
    const few = { id: "few", keys: [{ secret: key, roles: ["create"] }], models: ["sim"] };
    await using platform = await openPlatform({ models: new Set(["sim", "gpt"]), moreTenants: [few] });
    const at = `${platform.node.url}/v1/models`;
    for (const name of ["nosuch", "", "x".repeat(1_000), "%2F"]) {
      const { status, json } = await call(`${at}/${name}`);
      expect([status, json]).toMatchObject([
        404,
        {
          error: { code: "model_not_found", type: "invalid_request_error", param: "model", retryable: false },
        },
      ]);
    }
    expect(await call(`${at}/gpt`, { key })).toMatchObject({
      status: 403,
      json: { error: { code: "model_not_allowed", type: "permission_error" } },
    });
    expect(await call(`${at}/sim`, { key: KEYS.acmeCanceller })).toMatchObject({
      status: 403,
      json: { error: { code: "forbidden", type: "permission_error" } },
    });
    expect(await call(`${at}/sim`, { method: "DELETE" })).toMatchObject({
      status: 405,
      json: { error: { code: "method_not_allowed", type: "invalid_request_error", param: null } },
    });
  });
});
