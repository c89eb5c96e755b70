import { describe, expect, test } from "vitest";
import { createJsonEndpoint } from "./json-endpoint.ts";
import { type ServerAnswer, startClassifierServer } from "./testing/classifier-server.ts";

const TEXT = "what a user has said";
const NEVER = new Promise<never>(() => undefined);

async function startWorld() {
  const server = await startClassifierServer();
  const endpoint = createJsonEndpoint({ baseUrl: `${server.baseUrl}/`, connectTimeoutMs: 10_000 });
  return {
    server,
    endpoint,
    post: (signal = new AbortController().signal) => endpoint.post("/judge", { input: TEXT }, signal),
    async [Symbol.asyncDispose]() {
      await endpoint.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("an endpoint", () => {
  test("gives the JSON that it is answered", async () => {
    await using world = await startWorld();
    world.server.willAnswer({ body: { a: ["é", 1] } });
    expect(await world.post()).toEqual({ kind: "json", value: { a: ["é", 1] } });
    expect(world.server.requests).toMatchObject([{ path: "/v1/judge", body: { input: TEXT } }]);
  });

  test.each<[string, ServerAnswer, object]>([
    ["refuses this input", { status: 400 }, { reason: "invalid", detail: "400" }],
    ["refuses the key", { status: 401 }, { reason: "unavailable", detail: "401" }],
    ["fails without an end", { status: 503, end: "never" }, { reason: "unavailable", detail: "503" }],
    ["sends us elsewhere", { status: 302 }, { reason: "unavailable", detail: "302" }],
    ["sends a page", { body: "<html>" }, { reason: "invalid", detail: "not JSON" }],
    ["sends too much", { body: "x".repeat(300_000) }, { reason: "invalid", detail: "too long" }],
  ])("tells when the server %s", async (_, answer, expected) => {
    await using world = await startWorld();
    world.server.willAnswer({ body: { error: `no: ${TEXT}` }, ...answer });
    const result = await world.post();
    expect(result).toEqual({ kind: "unjudged", ...expected });
    expect(JSON.stringify(result)).not.toContain(TEXT);
  });

  test.each<ServerAnswer>([{ end: "dropped" }, { body: { a: 1 }, end: "cut" }])(
    "asks once more when the connection breaks: %j",
    async (broken) => {
      await using world = await startWorld();
      world.server.willAnswer(broken);
      world.server.willAnswer({ body: 1 });
      expect(await world.post()).toEqual({ kind: "json", value: 1 });
    },
  );

  test("asks no third time", async () => {
    await using world = await startWorld();
    world.server.willAnswer({ body: { a: 1 }, end: "cut" });
    world.server.willAnswer({ end: "dropped" });
    expect(await world.post()).toMatchObject({ kind: "unjudged", reason: "unavailable" });
    expect(world.server.requests).toHaveLength(2);
  });

  test("is unavailable where no server listens", async () => {
    const gone = await startClassifierServer();
    await gone[Symbol.asyncDispose]();
    const endpoint = createJsonEndpoint({ baseUrl: gone.baseUrl, connectTimeoutMs: 10_000 });
    const result = await endpoint.post("/judge", {}, new AbortController().signal);
    expect(result).toEqual({ kind: "unjudged", reason: "unavailable", detail: "ECONNREFUSED" });
    await endpoint.close();
  });

  test.each<[string, ServerAnswer]>([
    ["before the answer", { after: NEVER }],
    ["in the middle of it", { body: { a: 1 }, end: "never" }],
  ])("closes the connection and throws the reason when it is aborted %s", async (_, answer) => {
    await using world = await startWorld();
    world.server.willAnswer(answer);
    const abort = new AbortController();
    const rejected = expect(world.post(abort.signal)).rejects.toThrow("enough");
    const { closed } = await world.server.nextRequest();
    abort.abort(new Error("enough"));
    await Promise.all([rejected, closed]);
    expect(world.server.requests).toHaveLength(1);
  });
});
