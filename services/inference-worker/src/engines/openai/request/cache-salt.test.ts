import { parseTenantId } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { content, DONE, finish } from "../../testing/chat-frames.ts";
import { REQUEST, startOpenaiWorld } from "../../testing/openai-world.ts";
import { cacheSaltOf } from "./cache-salt.ts";

const ANSWER = { body: [content("Hi"), finish(), DONE] };
const tenant = parseTenantId("acme");
const anyTenant = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,30}$/).map(parseTenantId);

describe("the cache salt of a tenant", () => {
  test("is no other's, is the same for each of its requests, and has a form that vLLM takes", () => {
    fc.assert(
      fc.property(anyTenant, anyTenant, (one, other) => {
        const [salt, again, others] = [one, one, other].map((id) => cacheSaltOf("tenant", id)!);
        expect(again).toBe(salt);
        expect(salt === others).toBe(one === other);
        expect(salt).toMatch(/^[\w-]{43}$/);
      }),
    );
  });

  test("is sent to vLLM with every request, and to the servers that the models file says have it", async () => {
    const other = parseTenantId("other");
    for (const options of [{ dialect: "vllm" }, { dialect: "sglang", cacheSalt: "tenant" }] as const) {
      await using world = await startOpenaiWorld(options);
      for (const of of [tenant, tenant, other]) {
        world.server.willAnswer(ANSWER);
        await world.run(REQUEST, { tenant: of });
      }
      const salts = [tenant, tenant, other].map((of) => cacheSaltOf("tenant", of));
      expect(world.server.requests.map(({ body }) => body["cache_salt"])).toEqual(salts);
    }
  });

  test("is not sent to other servers, nor to a vLLM that keeps prompts for all", async () => {
    for (const options of [{}, { dialect: "sglang" }, { dialect: "vllm", cacheSalt: "none" }] as const) {
      await using world = await startOpenaiWorld(options);
      world.server.willAnswer(ANSWER);
      await world.run(REQUEST, { tenant });
      expect(world.server.requests.map(({ body }) => body)).toEqual([
        expect.not.objectContaining({ cache_salt: expect.anything() }),
      ]);
    }
  });

  test("is never left out for want of a tenant: the server is not asked", async () => {
    await using world = await startOpenaiWorld({ dialect: "vllm" });
    expect((await world.run()).error).toMatchObject({ code: "internal" });
    expect(world.server.requests).toEqual([]);
  });
});
