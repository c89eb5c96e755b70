import { type EventDraft, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { afterAll, describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  delta,
  HOUR_MS,
  openPlatform,
  openWorker,
  started,
} from "../testing/platform.ts";
import { AG_UI, INPUT, TANSTACK } from "./agents/agents.fixture.ts";
import { CHAT, findableRequests, openChat } from "./openai/chat.fixture.ts";

const platform = await openPlatform();
afterAll(() => platform[Symbol.asyncDispose]());
/** A node whose answers wait for the first content for as long as it takes. */
const patient = await platform.addNode({ headWaitMs: HOUR_MS });

const UI_CHAT = { id: "c1", messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] }] };
const ROUTES: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", { ...CHAT, stream: true }],
  ["/v1/responses", { model: "sim", input: "hello", stream: true }],
  ["/v1/ai-sdk/chat", UI_CHAT],
  [AG_UI, INPUT],
  [TANSTACK, INPUT],
];

const failed = (code: string, retryable = true): EventDraft => ({
  type: "generation.failed",
  error: { code, message: "The engine is away.", retryable },
  usage: { input_tokens: 0, output_tokens: 0 },
});

let made = 0;

/** A generation of which the first node has sent the head, a call of the other node that waits for its content, and its worker. */
async function begin(path: string, body: object) {
  const runId = `run-${++made}`;
  const isAgents = "runId" in body;
  const sent = isAgents ? { ...body, runId, threadId: runId } : body;
  const headers = isAgents ? {} : { "idempotency-key": runId };
  const options = { method: "POST", headers: { ...authorization(), ...headers }, body: sent } as const;
  await using first = await openSseReader(`${platform.node.url}${path}`, options);
  const generation = parseGenerationId(first.headers["reprise-generation-id"]);
  const answer = call(`${patient.url}${path}`, { body: sent, headers });
  return { answer, worker: await openWorker(platform.log, { tenant: parseTenantId("acme"), generation }) };
}

describe.each(ROUTES)("the head of an answer of %s", (path, body) => {
  test("is the status of a failure that comes before the first content", async () => {
    const { answer, worker } = await begin(path, body);
    await append(worker, started(), failed("engine_unavailable"));
    const { status, headers, json } = await answer;
    expect([status, json]).toMatchObject([502, { error: { code: "engine_unavailable" } }]);
    // Its key would get the same failure again.
    expect(headers.get("x-should-retry")).toBe("false");
  });

  test("is 200 for content, and then a failure is the protocol's", async () => {
    const { answer, worker } = await begin(path, body);
    await append(worker, started(), delta("Hello"), failed("engine_failed"));
    const { status, text } = await answer;
    expect([status, text.includes("Hello"), text.includes("engine_failed")]).toEqual([200, true, true]);
  });

  test("is 200 for an answer that ends without content", async () => {
    const { answer, worker } = await begin(path, body);
    await append(worker, started(), completed());
    expect((await answer).status).toBe(200);
  });
});

test("an answer without content yet has a head when its time is up", async () => {
  await using reader = await openChat(platform.node);
  expect(reader.status).toBe(200);
});

describe("a failure without content, of a call without a key", () => {
  test.each([
    ["engine_unavailable", true],
    ["engine_rejected", false],
  ])("is %s with X-Should-Retry: %s", async (code, retryable) => {
    const body = { seed: ++made };
    const before = await findableRequests(platform);
    await using first = await openChat(platform.node, { retries: 0, body });
    await expect.poll(() => findableRequests(platform)).toBe(before + 1);
    const headers = { "x-stainless-retry-count": "1" };
    const joined = call(`${patient.url}/v1/chat/completions`, {
      headers,
      body: { ...CHAT, stream: true, ...body },
    });
    const generation = parseGenerationId(first.headers["reprise-generation-id"]);
    const worker = await openWorker(platform.log, { tenant: parseTenantId("acme"), generation });
    await append(worker, started(), failed(code, retryable));
    const answer = await joined;
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([502, `${retryable}`]);
    await using again = await openChat(platform.node, { retries: 1, body });
    expect(again.status).toBe(200);
    expect(again.headers["reprise-generation-id"]).not.toBe(generation);
  });
});
