import { asSeq, type EventDraft } from "@reprise/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";
import { decide, halted, judge, redacted } from "../../testing/moderation.ts";
import {
  append,
  call,
  completed,
  delta,
  KEYS,
  openPlatform,
  type Platform,
  rewind,
  started,
  toolCall,
} from "../../testing/platform.ts";
import {
  askChat,
  CHAT,
  chunksOf,
  findableRequests,
  finishOf,
  openChat,
  textOf,
  workOn,
} from "./chat.fixture.ts";

afterEach(() => void vi.useRealTimers());

const FAILED: EventDraft = {
  type: "generation.failed",
  error: { code: "engine_failed", message: "It broke.", retryable: true },
  usage: { input_tokens: 3, output_tokens: 1 },
};

/** A completion that waits for its worker, and the key by which it is joined. */
async function createChat(platform: Platform, body: object = {}) {
  const headers = { "idempotency-key": "whole" };
  await using reader = await openChat(platform.node, { body, idempotencyKey: headers["idempotency-key"] });
  return { headers, ...(await workOn(platform, reader.headers["reprise-generation-id"])) };
}

async function tokenOf({ node }: Platform, endUser: string): Promise<string> {
  const body = { scopes: ["create", "read"], end_user: endUser };
  return ((await call(`${node.url}/v1/tokens`, { body })).json as { token: string }).token;
}

/** Asks for a completion in one body, and runs it to the end that the drafts give. */
async function answered(platform: Platform, drafts: readonly EventDraft[], body: object = {}) {
  const made = await createChat(platform, body);
  const answer = askChat(platform.node, { body: { ...CHAT, ...body }, headers: made.headers });
  await append(made.worker, ...drafts);
  return answer;
}

describe("a completion that is streamed", () => {
  test("is chunks of one id, with an id each, to a finish, the usage and [DONE]", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node, { body: { stream_options: { include_usage: true } } });
    expect(reader.status).toBe(200);
    expect(reader.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    const { worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"), delta("lo"), completed());
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ id }) => id)).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(reader.frames.at(-1)?.data).toBe("[DONE]");
    expect([textOf(reader), finishOf(reader)]).toEqual(["Hello", "stop"]);
    const chunks = chunksOf(reader);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks[0]).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-v]{26}[01]$/),
      object: "chat.completion.chunk",
      created: expect.any(Number),
      model: "sim",
      choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
    });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
  });

  test("is joined by its Idempotency-Key, from its beginning, at any node", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    await using first = await openChat(platform.node, { idempotencyKey: "k" });
    const { worker } = await workOn(platform, first.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"));
    await first.nextFrame();
    await first.nextFrame();
    first.cut();
    await using second = await openChat(other, { idempotencyKey: "k" });
    expect(second.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
    await append(worker, delta("lo"), completed());
    expect([await second.ended, textOf(second)]).toEqual(["clean", "Hello"]);
    expect(second.frames.slice(0, 2)).toEqual(first.frames);
  });

  test("continues after a Last-Event-ID, with its key, and is 204 at its end", async () => {
    await using platform = await openPlatform();
    await using first = await openChat(platform.node, { idempotencyKey: "k" });
    const { worker } = await workOn(platform, first.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"), delta("lo"), completed());
    expect(await first.ended).toBe("clean");
    for (const [at, { id }] of first.frames.slice(0, -1).entries()) {
      await using rest = await openChat(platform.node, { idempotencyKey: "k", lastEventId: id });
      expect([await rest.ended, rest.frames]).toEqual(["clean", first.frames.slice(at + 1)]);
    }
    await using over = await openChat(platform.node, { idempotencyKey: "k", lastEventId: first.lastEventId });
    expect(over.status).toBe(204);
  });

  test("with a Last-Event-ID creates nothing", async () => {
    await using platform = await openPlatform();
    const ask = (headers: Record<string, string>, body: object = { ...CHAT, stream: true }) =>
      askChat(platform.node, { headers: { "last-event-id": "1", ...headers }, body });
    const keyed = { "idempotency-key": "k" };
    expect(await ask({})).toMatchObject({ status: 400, json: { error: { param: "Idempotency-Key" } } });
    expect(await ask(keyed)).toMatchObject({ status: 400, json: { error: { code: "cursor_invalid" } } });
    expect(await ask({ ...keyed, "last-event-id": "1-1" })).toMatchObject({
      status: 400,
      json: { error: { code: "cursor_invalid", param: "Last-Event-ID" } },
    });
    expect(await ask(keyed, CHAT)).toMatchObject({
      status: 400,
      json: { error: { param: "Last-Event-ID" } },
    });
  });

  test("with another request and the same key is a conflict", async () => {
    await using platform = await openPlatform();
    await using _ = await openChat(platform.node, { idempotencyKey: "k" });
    const { status, json } = await askChat(platform.node, {
      headers: { "idempotency-key": "k" },
      body: { ...CHAT, seed: 1 },
    });
    expect([status, json]).toMatchObject([409, { error: { code: "idempotency_conflict" } }]);
  });

  test("that a native cancel ends has a finish and [DONE]", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node);
    const { path, worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"));
    expect((await call(`${platform.node.url}${path}/cancel`, { body: {} })).status).toBe(200);
    expect(await reader.ended).toBe("clean");
    expect([textOf(reader), finishOf(reader), reader.frames.at(-1)?.data]).toEqual(["Hel", "stop", "[DONE]"]);
  });

  test("that fails has the error in the place of what would follow, and no finish", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node);
    const { worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"), FAILED);
    await reader.ended;
    expect(finishOf(reader)).toBeUndefined();
    expect(chunksOf(reader).at(-1)).toEqual({
      error: { message: "It broke.", type: "server_error", param: null, code: "engine_failed" },
    });
  });

  test("that begins again after text says so, and no finish", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node);
    const { worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("Hel"), started(2), rewind(1), delta("Hey"), completed());
    await reader.ended;
    expect([textOf(reader), finishOf(reader)]).toEqual(["Hel", undefined]);
    expect(chunksOf(reader).at(-1)).toMatchObject({ error: { code: "restarted" } });
  });
});

describe("a completion with a tool", () => {
  const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }];

  test("ends its turn with the call, and the next request answers it", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node, { body: { tools } });
    const { ref, worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    const [requested] = (await platform.log.reader.readLog(ref)).events;
    expect(JSON.parse(Buffer.from(requested!).toString())).toMatchObject({ request: { tool_calls: "end" } });
    await append(worker, started(), toolCall("c1"), {
      ...completed(),
      finish_reason: "tool_calls",
    } as EventDraft);
    expect(await reader.ended).toBe("clean");
    const called = {
      id: "c1",
      type: "function",
      function: { name: "look_up", arguments: '{"word":"log"}' },
    };
    expect(finishOf(reader)).toBe("tool_calls");
    expect(chunksOf(reader).flatMap(({ choices }) => choices?.[0]?.delta.tool_calls ?? [])).toEqual([
      { index: 0, ...called },
    ]);
    await using next = await openChat(platform.node, {
      body: {
        tools,
        messages: [
          ...CHAT.messages,
          { role: "assistant", content: null, tool_calls: [called] },
          { role: "tool", tool_call_id: "c1", content: "an append-only list" },
        ],
      },
    });
    expect(next.status).toBe(200);
  });
});

describe("a completion that is moderated", () => {
  test.each(["gate", "retract"])("shows what was judged alone, in the mode %s", async (mode) => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node, { body: { policy: { moderation: { mode } } } });
    const { ref, worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("clean "), delta("SECRET"), completed());
    await judge(platform, ref, 2);
    while (textOf(reader) !== "clean ") expect(await reader.nextFrame()).toBeDefined();
    await decide(platform, ref, redacted(3));
    await judge(platform, ref, 5, { decided: asSeq(5) });
    expect(await reader.ended).toBe("clean");
    expect([textOf(reader), finishOf(reader)]).toEqual(["clean [redacted]", "stop"]);
    expect(reader.bytes.toString()).not.toContain("SECRET");
  });

  test("that is halted finishes with content_filter", async () => {
    await using platform = await openPlatform();
    await using reader = await openChat(platform.node, {
      body: { policy: { moderation: { mode: "gate" } } },
    });
    const { ref, path, worker } = await workOn(platform, reader.headers["reprise-generation-id"]);
    await append(worker, started(), delta("clean "));
    await decide(platform, ref, halted(2));
    await call(`${platform.node.url}${path}/cancel`, { body: {} });
    await judge(platform, ref, 4, { decided: asSeq(3) });
    expect(await reader.ended).toBe("clean");
    expect(finishOf(reader)).toBe("content_filter");
  });
});

describe("a completion that is not streamed", () => {
  test("waits for the end, and is one body", async () => {
    await using platform = await openPlatform();
    const answer = await answered(platform, [started(), delta("Hel"), delta("lo"), completed()]);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: "chat.completion",
      model: "sim",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
  });

  test("that a native cancel ends has what was said until then", async () => {
    await using platform = await openPlatform();
    const { headers, path, worker } = await createChat(platform);
    const answer = askChat(platform.node, { headers });
    await append(worker, started(), delta("Hel"));
    await call(`${platform.node.url}${path}/cancel`, { body: {} });
    expect((await answer).json).toMatchObject({
      choices: [{ finish_reason: "stop", native_finish_reason: "cancelled", message: { content: "Hel" } }],
    });
  });

  test("of a gate has no words that were withdrawn", async () => {
    await using platform = await openPlatform();
    const body = { policy: { moderation: { mode: "gate" } } };
    const { headers, ref, worker } = await createChat(platform, body);
    const answer = askChat(platform.node, { headers, body: { ...CHAT, ...body } });
    await append(worker, started(), delta("clean "), delta("SECRET"), completed());
    await decide(platform, ref, redacted(3));
    await judge(platform, ref, 5, { decided: asSeq(5) });
    const { status, json, text } = await answer;
    expect([status, json]).toMatchObject([200, { choices: [{ message: { content: "clean [redacted]" } }] }]);
    expect(text).not.toContain("SECRET");
  });

  test("that has failed is an error that is not to be tried again", async () => {
    await using platform = await openPlatform();
    const answer = await answered(platform, [started(), FAILED]);
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([502, "false"]);
    expect(answer.json).toMatchObject({
      error: { code: "engine_failed", type: "server_error", param: null },
    });
  });
});

describe("a completion without a key that the package openai sends again by itself", () => {
  test("joins what it has created, at any node", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    await using first = await openChat(platform.node, { retries: 0 });
    const id = first.headers["reprise-generation-id"];
    first.cut();
    await expect.poll(() => findableRequests(platform)).toBe(1);
    await using again = await openChat(other, { retries: 1 });
    expect(again.headers).toMatchObject({ "reprise-generation-id": id });
    const { worker } = await workOn(platform, id);
    await append(worker, started(), delta("Hello"), completed());
    expect([await again.ended, textOf(again)]).toEqual(["clean", "Hello"]);
  });

  test("is one whose count is a whole number from 1: any other is as if it was not there", async () => {
    await using platform = await openPlatform();
    await using first = await openChat(platform.node, { retries: 0 });
    await expect.poll(() => findableRequests(platform)).toBe(1);
    const ids = new Set<unknown>([first.headers["reprise-generation-id"]]);
    for (const retries of ["abc", "-1", "00", "01", "1.5"]) {
      await using another = await openChat(platform.node, { retries });
      ids.add(another.headers["reprise-generation-id"]);
    }
    expect(ids.size).toBe(6);
    await using again = await openChat(platform.node, { retries: 12 });
    expect(again.headers["reprise-generation-id"]).toBe(first.headers["reprise-generation-id"]);
  });

  test("joins what has ended less than a minute ago, and nothing that has ended before", async () => {
    await using platform = await openPlatform();
    await using first = await openChat(platform.node, { retries: 0 });
    const id = first.headers["reprise-generation-id"];
    const { worker } = await workOn(platform, id);
    await append(worker, started(), delta("Hello"), completed());
    await first.ended;
    await expect.poll(() => findableRequests(platform)).toBe(1);
    const ids: unknown[] = [];
    for (const ms of [30_000, 62_000]) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
      await using again = await openChat(platform.node, { retries: 1 });
      ids.push(again.headers["reprise-generation-id"]);
      vi.useRealTimers();
    }
    expect([ids[0], ids[1] === id]).toEqual([id, false]);
  });

  test("is another run with another body, as another request, and for another caller", async () => {
    await using platform = await openPlatform();
    const ids = new Set<unknown>();
    for (const options of [
      { retries: 0 },
      { retries: 0 },
      { retries: 1, body: { seed: 1 } },
      { retries: 1, key: KEYS.beta },
      { retries: 0, key: await tokenOf(platform, "ann") },
      { retries: 1, key: await tokenOf(platform, "bob") },
    ]) {
      await using reader = await openChat(platform.node, options);
      ids.add(reader.headers["reprise-generation-id"]);
    }
    expect(ids.size).toBe(6);
  });
});
