import { type Generation, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { openSseReader, type SseReader } from "@reprise/testkit";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  delta,
  KEYS,
  openPlatform,
  openWorker,
  started,
} from "../../testing/platform.ts";

const platform = await openPlatform();
afterAll(() => platform[Symbol.asyncDispose]());
afterEach(() => vi.useRealTimers());
const API = `${platform.node.url}/v1/ai-sdk/chat`;

let made = 0;
const newChat = () => `chat ${++made}/ä`;
const user = (text: string, id = "u1") => ({ id, role: "user", parts: [{ type: "text", text }] });
const bodyOf = (id: string, more: object = {}) => ({
  id,
  messages: [user("Hi")],
  trigger: "submit-message",
  ...more,
});

function submit(body: object, headers: Record<string, string> = {}): Promise<SseReader> {
  return openSseReader(API, { method: "POST", headers: { ...authorization(), ...headers }, body });
}

function resume(id: string, query = "", key: string = KEYS.acme): Promise<SseReader> {
  return openSseReader(`${API}/${encodeURIComponent(id)}/stream${query}`, { headers: authorization(key) });
}

const stop = (id: string) => call(`${API}/${encodeURIComponent(id)}/stop`, { method: "POST" });

/** The worker of a chat's run. */
async function workOn({ headers }: Pick<SseReader, "headers">) {
  const generation = parseGenerationId(headers["x-workflow-run-id"]);
  return {
    generation,
    worker: await openWorker(platform.log, { tenant: parseTenantId("acme"), generation }),
  };
}

const chunksOf = ({ frames }: Pick<SseReader, "frames">) =>
  frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as { type: string });
const typesOf = (reader: Pick<SseReader, "frames">) => chunksOf(reader).map(({ type }) => type);

/** A run that has ended, and what its own answer was. */
async function endedRun(id: string, more: object = {}) {
  const stream = await submit(bodyOf(id, more));
  const { worker, generation } = await workOn(stream);
  await append(worker, started(), delta("Hel"), delta("lo"), completed());
  expect(await stream.ended).toBe("clean");
  return { stream, generation };
}

describe("a submitted message", () => {
  test("is answered with a UI message stream that names its run", async () => {
    const { stream, generation } = await endedRun(newChat());
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-workflow-run-id": generation,
    });
    expect(typesOf(stream)).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect(stream.frames.at(-1)?.data).toBe("[DONE]");
    expect(chunksOf(stream)[0]).toMatchObject({ messageId: generation });
  });

  test("is one run however often the same body comes, and another one for another body or chat", async () => {
    const [id, other] = [newChat(), newChat()];
    const streams = await Promise.all([
      submit(bodyOf(id)),
      submit(bodyOf(id)),
      submit(bodyOf(id, { messages: [user("Hello?")] })),
      submit(bodyOf(other)),
    ]);
    const runs = streams.map(({ headers }) => headers["x-workflow-run-id"]);
    expect(runs[1]).toBe(runs[0]);
    expect(new Set(runs).size).toBe(3);
    for (const stream of streams) stream.cut();
  });

  test("may come without a media type, as a transport of the AI SDK sends it, and without a chat", async () => {
    const headers = { ...authorization(), "content-type": "text/plain;charset=UTF-8" };
    const body = JSON.stringify({ messages: [user("Hi")] });
    const runs = await Promise.all(
      [1, 2].map(async () => {
        const response = await fetch(API, { method: "POST", headers, body });
        expect(response.status).toBe(200);
        await response.body?.cancel();
        return response.headers.get("x-workflow-run-id");
      }),
    );
    expect(new Set(runs).size).toBe(2);
  });

  test.each([
    [{ temperature: 9 }, 400, "temperature"],
    [{ topP: 9 }, 400, "topP"],
    [{ model: "none" }, 404, "model"],
    [{ providerOptions: {} }, 400, "providerOptions"],
    [{ id: "s\ud800-x" }, 400, "id"],
  ])("with %j is refused with %i about %s", async (more, status, param) => {
    const answer = await call(API, { body: bodyOf(newChat(), more) });
    expect(answer).toMatchObject({ status, json: { error: { param } } });
  });

  test("continues with the assistant's message that is the last", async () => {
    const tool = { type: "tool-find", toolCallId: "c1", state: "output-available", input: {}, output: 1 };
    const messages = [user("Hi"), { id: "a1", role: "assistant", parts: [{ type: "step-start" }, tool] }];
    const id = newChat();
    const { stream } = await endedRun(id, { messages });
    expect(chunksOf(stream)[0]).toMatchObject({ type: "start", messageId: "a1" });
    // Told again it would be shown without what came before.
    expect((await resume(id)).status).toBe(204);
  });
});

describe("a chat's stream", () => {
  test("is the whole of its newest run, while that continues and after its end", async () => {
    const id = newChat();
    const first = await submit(bodyOf(id));
    const { worker } = await workOn(first);
    await append(worker, started(), delta("Hel"));
    first.cut();
    const second = await resume(id);
    await append(worker, delta("lo"), completed());
    expect(await second.ended).toBe("clean");
    const third = await resume(id);
    expect(third.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
    expect(await third.ended).toBe("clean");
    expect(third.frames.map(({ data }) => data)).toEqual(second.frames.map(({ data }) => data));
    expect(typesOf(second)).toHaveLength(8);
  });

  test("is that of a regeneration once there is one, which is a run of its own each time", async () => {
    const id = newChat();
    const { generation } = await endedRun(id);
    const again = await submit(bodyOf(id, { trigger: "regenerate-message", messageId: generation }));
    const run = again.headers["x-workflow-run-id"];
    expect(run).not.toBe(generation);
    const resumed = await resume(id);
    expect(resumed.headers["x-workflow-run-id"]).toBe(run);
    const third = await submit(bodyOf(id, { trigger: "regenerate-message", messageId: generation }));
    expect(third.headers["x-workflow-run-id"]).not.toBe(run);
    for (const stream of [again, resumed, third]) stream.cut();
  });

  test("is nothing for a chat without a run, for another tenant, and five minutes after an end", async () => {
    const id = newChat();
    expect((await resume(id)).status).toBe(204);
    await endedRun(id);
    expect((await resume(id, "", KEYS.beta)).status).toBe(204);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 301_000 });
    expect((await resume(id)).status).toBe(204);
  });

  test("is a stream of nothing for a transport that asks with an index", async () => {
    const nothing = await resume(newChat(), "?startIndex=0");
    expect(await nothing.ended).toBe("clean");
    expect(nothing.status).toBe(200);
    expect(nothing.frames.map(({ data }) => data)).toEqual([
      '{"type":"finish","finishReason":"other"}',
      "[DONE]",
    ]);
  });
});

describe("a run's stream", () => {
  test("begins at an index, or a number of chunks before the end of what there is", async () => {
    const { stream, generation } = await endedRun(newChat());
    const whole = stream.frames.map(({ data }) => data);
    for (const [query, from] of [
      ["", 0],
      ["?startIndex=3", 3],
      ["?startIndex=-2", 6],
      ["?startIndex=-99", 0],
      // All chunks are there: the end is told again, and without it WorkflowChatTransport would come back for ever.
      ["?startIndex=8", 7],
      ["?startIndex=9", 7],
    ] as const) {
      const suffix = await resume(generation, query);
      expect(await suffix.ended).toBe("clean");
      expect(suffix.frames.map(({ data }) => data)).toEqual(whole.slice(from));
      expect(suffix.headers["x-workflow-stream-tail-index"]).toBe(query.includes("-") ? "7" : undefined);
    }
  });

  test.each([
    ["?startIndex=x", 400, "startIndex"],
    ["?startIndex=10", 400, "startIndex"],
    ["?from=1", 400, "from"],
  ])("with %s is refused with %i", async (query, status, param) => {
    const { generation } = await endedRun(newChat());
    const { status: answered, json } = await call(`${API}/${generation}/stream${query}`);
    expect([answered, json]).toMatchObject([status, { error: { param } }]);
  });

  test("of another tenant does not exist", async () => {
    const { generation } = await endedRun(newChat());
    expect((await resume(generation, "", KEYS.beta)).status).toBe(404);
  });
});

describe("a stop", () => {
  test("cancels the chat's run, at once or again, and its readers are told", async () => {
    const id = newChat();
    const stream = await submit(bodyOf(id));
    const { worker, generation } = await workOn(stream);
    await append(worker, started(), delta("Hel"));
    const stopped = await stop(id);
    expect([stopped.status, stopped.json as Generation]).toMatchObject([
      200,
      { id: generation, status: "cancelled" },
    ]);
    expect(await stream.ended).toBe("clean");
    expect(typesOf(stream).slice(-4)).toEqual(["text-end", "abort", "finish-step", "finish"]);
    expect((await stop(generation)).status).toBe(200);
  });

  test("is nothing where there is nothing to stop", async () => {
    expect((await stop(newChat())).status).toBe(204);
  });
});
