import { decodeOpsRecord, OPS_STREAM, parseTenantId, STREAM_START } from "@reprise/protocol";
import { readStreamMessages } from "@reprise/broker";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  type Platform,
  REQUEST,
  started,
} from "../testing/platform.ts";

const LIVE = { liveTenants: true };
const PATH = "/v1/admin/tenants/acme/revocations";

const api =
  ({ node }: Pick<Platform, "node">) =>
  (method: string, body?: unknown) =>
    call(`${node.url}${PATH}`, { method, key: KEYS.acmeAdmin, ...(body !== undefined && { body }) });

interface Minted {
  id: string;
  token: string;
}
async function mint({ node }: Platform, path: string, body: object): Promise<Minted> {
  const { status, json } = await call(`${node.url}${path}`, { body });
  expect(status).toBe(201);
  return json as Minted;
}

describe("a revocation", () => {
  test.each(["token", "generation", "user"])(
    "by %s ends those tokens on both nodes and breaks their streams off, and no others",
    async (kind) => {
      await using platform = await openPlatform(LIVE);
      const other = await platform.addNode(LIVE);
      const urls = [platform.node.url, other.url];
      const body = { ...REQUEST, end_user: "ann" };
      const { path, worker, generation } = await createGeneration(platform, { body });
      await append(worker, started());
      const minted = await mint(platform, `${path}/tokens`, { scopes: ["read"], end_user: "ann" });
      // Of the same tenant, and by none of the three the same.
      const another = await createGeneration(platform, { body: { ...REQUEST, end_user: "bob" } });
      await append(another.worker, started());
      const kept = await mint(platform, `${another.path}/tokens`, { scopes: ["read"], end_user: "bob" });
      const attach = (key: string, at: string) =>
        Promise.all(
          urls.map(async (url) => {
            const reader = await openSseReader(`${url}${at}/events`, { headers: authorization(key) });
            expect((await reader.nextFrame())?.id).toBe("1-1");
            return reader;
          }),
        );
      const refused = await attach(minted.token, path);
      const others = await attach(kept.token, another.path);
      const values: Record<string, string> = { token: minted.id, generation: generation.id, user: "ann" };
      const revoked = { kind, value: values[kind] };
      expect(await api(platform)("POST", revoked)).toMatchObject({
        status: 201,
        json: { object: "revocation", ...revoked },
      });
      for (const reader of refused) {
        expect(await reader.ended).toBe("broken");
        expect(reader.frames.at(-1)).toMatchObject({
          event: "error",
          data: expect.stringContaining('"code":"unauthenticated"'),
        });
      }
      await other.tenants!.directory.sync();
      const statuses = ({ token }: Minted, at: string) =>
        Promise.all(urls.map(async (url) => (await call(`${url}${at}`, { key: token })).status));
      expect(await statuses(minted, path)).toEqual([401, 401]);
      expect(await statuses(kept, another.path)).toEqual([200, 200]);
      for (const reader of others) expect(reader.frames).toHaveLength(1);
      expect((await api({ node: other })("GET")).json).toMatchObject({ object: "list", data: [revoked] });
    },
  );

  test.each([
    { kind: "token", value: "a b" },
    { kind: "generation", value: "gen_x" },
    { kind: "user", value: "" },
    { kind: "tenant", value: "acme" },
    { kind: "token" },
    { kind: "token", value: "t", at: "2036-01-01T00:00:00Z" },
  ])("is refused as %j", async (body) => {
    await using platform = await openPlatform(LIVE);
    expect((await api(platform)("POST", body)).status).toBe(400);
    expect((await api(platform)("GET")).json).toMatchObject({ data: [] });
  });

  test("is not undone by removing the tenant: it can't be created again", async () => {
    await using platform = await openPlatform(LIVE);
    const { url, tenants } = platform.node;
    const { json } = await call(`${url}/v1/tokens`, { body: { scopes: ["create"], end_user: "ann" } });
    const { token } = json as { token: string };
    const create = () => call(`${url}/v1/generations`, { key: token, body: REQUEST });
    expect((await create()).status).toBe(201);
    const { store, directory } = tenants!;
    const acme = parseTenantId("acme");
    const { record } = (await store.read(acme))!;
    await store.remove(acme);
    await expect(store.create(record)).rejects.toMatchObject({ code: "tenant_removed" });
    await directory.sync();
    expect((await create()).status).toBe(401);
  });

  test("is added where the tenants file owns the tenants, and recorded with what it revokes", async () => {
    await using platform = await openPlatform({ ...LIVE, ownedTenants: true });
    const revoked = { kind: "user", value: "ann" };
    expect((await api(platform)("POST", revoked)).status).toBe(201);
    const messages = await readStreamMessages(platform.broker.reads, OPS_STREAM, {
      afterStreamSeq: STREAM_START,
      subject: "ops.*.administration.-",
      maxMessages: 100,
      maxBytes: 1_000_000,
    });
    expect(messages.map(({ payload }) => decodeOpsRecord(payload))).toMatchObject([
      { by: "adm", call: "token.revoke", stage: "begun", revoked },
      { by: "adm", call: "token.revoke", stage: "done", revoked, after: { revocations: [revoked] } },
    ]);
  });
});
