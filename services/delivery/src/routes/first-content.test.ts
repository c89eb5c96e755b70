import { type EventDraft, parseLogSubject } from "@reprise/protocol";
import { afterAll, describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  delta,
  type NodeOptions,
  openPlatform,
  openWorker,
  started,
} from "../testing/platform.ts";
import { AG_UI, INPUT, TANSTACK } from "./agents/agents.fixture.ts";
import { CHAT, findableRequests, openChat } from "./openai/chat.fixture.ts";

const HOUR_MS = 3_600_000;
const platform = await openPlatform({ headWaitMs: HOUR_MS });
afterAll(() => platform[Symbol.asyncDispose]());

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

/** Resolves with the worker of the next generation that is created. */
function nextWorker() {
  return new Promise<Awaited<ReturnType<typeof openWorker>>>((resolve, reject) => {
    platform.broker.main.subscribe("gen.*.acme.*", {
      max: 1,
      callback: (_error, { subject }) =>
        void openWorker(platform.log, parseLogSubject(subject)).then(resolve, reject),
    });
  });
}

/** A call that waits for content, and its worker. */
async function begin(path: string, body: object) {
  const runId = `run-${++made}`;
  const isNamed = "runId" in body;
  const headers = isNamed ? {} : { "idempotency-key": runId };
  const worker = nextWorker();
  await platform.broker.main.flush();
  const answer = call(`${platform.node.url}${path}`, {
    body: isNamed ? { ...body, runId, threadId: runId } : body,
    headers,
  });
  return { answer, worker: await worker };
}

describe.each(ROUTES)("the head of an answer of %s", (path, body) => {
  test("is the status of a failure that comes before the first content", async () => {
    const { answer, worker } = await begin(path, body);
    await append(worker, started(), failed("engine_unavailable"));
    const { status, json } = await answer;
    expect([status, json]).toMatchObject([502, { error: { code: "engine_unavailable" } }]);
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
  const hasty = await platform.addNode({ headWaitMs: 0 });
  await using reader = await openChat(hasty);
  expect(reader.status).toBe(200);
});

describe("a failure without content, of a call without a key", () => {
  test.each([
    ["engine_unavailable", true, null],
    ["engine_rejected", false, "false"],
  ])("is %s, and a retry is another run", async (code, retryable, shouldRetry) => {
    const body = { ...CHAT, stream: true, seed: ++made };
    const rows = (await findableRequests(platform)) + 1;
    const send = async (retries: number) => {
      const next = nextWorker();
      await platform.broker.main.flush();
      const headers = { "x-stainless-retry-count": `${retries}` };
      const answer = call(`${platform.node.url}/v1/chat/completions`, { headers, body });
      const worker = await next;
      await expect.poll(() => findableRequests(platform)).toBe(rows);
      await append(worker, started(), failed(code, retryable));
      return answer;
    };
    const answers = [await send(0), await send(1)];
    for (const { status, headers } of answers)
      expect([status, headers.get("x-should-retry")]).toEqual([502, shouldRetry]);
    const ids = answers.map(({ headers }) => headers.get("reprise-generation-id"));
    expect(new Set(ids).size).toBe(2);
  });
});

describe("a call that waits for content", () => {
  /** A node of its own, and how to see that it waits for a generation. */
  async function openNode(options: NodeOptions = {}) {
    const node = await platform.addNode({ headWaitMs: HOUR_MS, ...options });
    const waiting = (generations: number) =>
      expect
        .poll(async () => (await call(`${node.opsUrl}/metrics`)).text)
        .toContain(`\nreprise_hub_generations ${generations}\n`);
    return { ...node, waiting };
  }

  test("is refused by a node that drains, and its retry joins at another one", async () => {
    const node = await openNode();
    const body = { ...CHAT, stream: true, seed: ++made };
    const rows = (await findableRequests(platform)) + 1;
    const send = (url: string, retries: number) =>
      call(`${url}/v1/chat/completions`, { headers: { "x-stainless-retry-count": `${retries}` }, body });
    const next = nextWorker();
    await platform.broker.main.flush();
    const refused = send(node.url, 0);
    const worker = await next;
    await node.waiting(1);
    await expect.poll(() => findableRequests(platform)).toBe(rows);
    node.delivery.drain();
    const { status, headers, json } = await refused;
    expect([status, json, headers.get("x-should-retry")]).toMatchObject([
      503,
      { error: { code: "draining" } },
      null,
    ]);
    const joined = send(platform.node.url, 1);
    await append(worker, started(), delta("Hello"), completed());
    const again = await joined;
    expect([again.status, again.headers.get("reprise-generation-id")]).toEqual([
      200,
      headers.get("reprise-generation-id"),
    ]);
  });

  test("holds nothing after its client has left", async () => {
    // A log that has no readers leaves memory at once.
    const node = await openNode({ hubBytes: 1 });
    const leaving = new AbortController();
    const { signal } = leaving;
    const next = nextWorker();
    await platform.broker.main.flush();
    const left = call(`${node.url}/v1/chat/completions`, { body: { ...CHAT, stream: true }, signal });
    await append(await next, started());
    await node.waiting(1);
    leaving.abort();
    await expect(left).rejects.toThrow("abort");
    await node.waiting(0);
  });
});
