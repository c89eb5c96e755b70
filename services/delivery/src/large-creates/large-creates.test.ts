import { Thread } from "@reprise/service";
import { parseGenerationId, parseTenantId } from "@reprise/protocol";
import { delta, openSseReader } from "@reprise/testkit";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  openPlatform,
  openWorker,
  REQUEST,
  started,
} from "../testing/platform.ts";

const platform = await openPlatform();
afterAll(() => platform[Symbol.asyncDispose]());
const { node, log } = platform;
const url = `${node.url}/v1/generations`;

const calls = vi.spyOn(Thread.prototype, "call");
afterEach(() => void calls.mockClear());

const large = (fields: object = {}) => ({ ...REQUEST, input: "x".repeat(200_000), ...fields });

test("a large request is worked on in the thread, a small one is not", async () => {
  expect((await call(url, { body: REQUEST })).status).toBe(201);
  expect(calls).not.toHaveBeenCalled();
  const { status, json } = await call(url, { body: large({ metadata: { a: "b" } }) });
  expect(status).toBe(201);
  expect(calls.mock.calls.map(([method]) => method)).toEqual(["create"]);
  const { id } = json as { id: string };
  const read = await call(`${url}/${id}`);
  expect(read.json).toEqual(json);
  expect(json).toMatchObject({ status: "queued", model: "sim", metadata: { a: "b" } });
});

test.each([
  ["what is not JSON", `{"input":"${"x".repeat(200_000)}`, 400, "invalid_json", "body"],
  ["an unknown field", large({ colour: "blue" }), 400, "invalid_request", "colour"],
  ["an unknown model", large({ model: "nosuch" }), 404, "model_not_found", "model"],
  [
    "a name of a prototype",
    JSON.stringify(large()).replace("{", '{"__proto__":{},'),
    400,
    "invalid_request",
    "__proto__",
  ],
] as const)("%s is refused as in a small request", async (_what, body, status, code, param) => {
  const { status: answered, json } = await call(url, { body });
  expect([answered, json]).toMatchObject([status, { error: { code, param } }]);
  expect(calls).toHaveBeenCalledTimes(1);
});

test("a large request with a key joins what the key stands for, and another one is a conflict", async () => {
  const headers = { "idempotency-key": "large" };
  const first = await call(url, { body: large(), headers });
  const again = await call(url, { body: large(), headers });
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json).toEqual(first.json);
  const other = await call(url, { body: large({ metadata: { a: "b" } }), headers });
  expect([other.status, other.json]).toMatchObject([409, { error: { code: "idempotency_conflict" } }]);
});

test("a large request is answered with its stream, from its first event on", async () => {
  const headers = { accept: "text/event-stream", ...authorization() };
  await using reader = await openSseReader(url, { method: "POST", body: large(), headers });
  expect(reader.status).toBe(201);
  const generation = parseGenerationId(String(reader.headers["reprise-generation-id"]));
  const worker = await openWorker(log, { tenant: parseTenantId("acme"), generation });
  await append(worker, started(), delta("hi"), completed());
  expect(await reader.ended).toBe("clean");
  expect(reader.frames.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toEqual([
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
});
