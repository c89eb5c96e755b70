import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { EngineRequest, Progress } from "../../engine.ts";
import { content, DONE, finish, frame, ROLE } from "../../testing/chat-frames.ts";
import { type Collected, collect } from "../../testing/collect.ts";
import { type Answer, startMisbehavingServer } from "../../testing/misbehaving-server.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai-engine.ts";
import { toRefusal } from "./stream-error.ts";

const PROMPT = "My card is 4111 1111 1111 1111, and the lighthouse keeper's name is Ødegård.";
const KEY = "sk-0123456789abcdef";
const REQUEST: EngineRequest = {
  model: "public",
  input: PROMPT,
  stop: ["the end of it all"],
  options: { user: "someone@example.org" },
};
const ANSWER = "The keeper sleeps under the lamp.";
const PROGRESS: Progress = {
  turns: [
    { type: "tool_call", call_id: "a", name: "find_keeper", arguments: '{"rock":"Slettringen"}' },
    { type: "tool_result", call_id: "a", output: { found: ANSWER } },
  ],
  prefix: { text: "She is", tokens: 2 },
};
const JSON_TYPE = { "content-type": "application/json" };

async function runAgainst(answer: Answer, options: Partial<OpenaiEngineOptions> = {}): Promise<Collected> {
  await using server = await startMisbehavingServer();
  server.willAnswer(answer);
  return await runAt(server.baseUrl, options);
}

async function runAt(baseUrl: string, options: Partial<OpenaiEngineOptions> = {}): Promise<Collected> {
  const engine = createOpenaiEngine({ baseUrl, upstreamModel: "m", apiKey: KEY, ...options });
  const collected = await collect(
    engine.generate(REQUEST, { ...PROGRESS, signal: new AbortController().signal }),
  );
  await engine.close();
  return collected;
}

describe("an upstream that does not answer", () => {
  test("because no server listens is unavailable", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const { error } = await runAt(`http://127.0.0.1:${port}/v1`);
    expect(error).toMatchObject({
      code: "engine_unavailable",
      retryable: true,
      message: "The engine could not be reached (ECONNREFUSED).",
    });
  });

  test("because it does not shake hands within connectTimeoutMs is unavailable", async () => {
    await using server = await startMisbehavingServer();
    const { error } = await runAt(server.baseUrl.replace("http:", "https:"), { connectTimeoutMs: 30 });
    expect(error).toMatchObject({ code: "engine_unavailable" });
  });

  test("within headersTimeoutMs is unavailable", async () => {
    const { error } = await runAgainst({ end: "silent" }, { headersTimeoutMs: 30 });
    expect(error).toMatchObject({
      code: "engine_unavailable",
      message: "The engine did not begin to answer within 30 ms.",
    });
  });

  test("in HTTP has failed", async () => {
    const { error } = await runAgainst({ end: "garbage" });
    expect(error).toMatchObject({ code: "engine_failed", message: expect.stringContaining("not HTTP") });
  });
});

describe("an upstream that answers with a status", () => {
  test.each([
    [400, "engine_rejected", "never"],
    [404, "engine_rejected", "never"],
    [422, "engine_rejected", "never"],
    [408, "engine_unavailable", "silent"],
    [504, "engine_unavailable", "silent"],
    [429, "engine_unavailable", "busy"],
    [503, "engine_unavailable", "busy"],
    [529, "engine_unavailable", "busy"],
    [500, "engine_unavailable", "broken"],
    [502, "engine_unavailable", "broken"],
    [201, "engine_failed", "never"],
    [302, "engine_failed", "never"],
  ])(
    "of %i is %s and can be asked again: %s; what it says is for the worker's log alone",
    async (status, code, retry) => {
      const body = [JSON.stringify({ error: { message: "maximum context length is 4096 tokens" } })];
      const { error, events } = await runAgainst({ status, headers: JSON_TYPE, body });
      expect(events).toEqual([]);
      expect(error).toMatchObject({
        code,
        retry,
        message: expect.stringMatching(
          `^The engine answered ${status}(, but not with text/event-stream)?\\.$`,
        ),
        said: "maximum context length is 4096 tokens",
      });
    },
  );

  test.each([
    [400, true],
    [422, true],
    [401, false],
    [404, false],
  ])("and whether the request is at fault: %d", (status, isRequests) => {
    const error = toRefusal(status, { message: "It answered.", retryAfterMs: undefined, error: {} });
    expect([error.code, error.isRequests]).toEqual(["engine_rejected", isRequests]);
  });

  test("and calls the request too long by a code says so in the platform's words", async () => {
    const body = [JSON.stringify({ error: { code: "context_length_exceeded", message: "no" } })];
    expect((await runAgainst({ status: 400, headers: JSON_TYPE, body })).error).toMatchObject({
      message: "The engine answered 400. The request does not fit the model's context.",
    });
  });

  test.each([401, 403])("of %i tells nothing but that the key was refused", async (status) => {
    const body = [JSON.stringify({ error: { message: "Incorrect API key provided: sk-01234*****cdef." } })];
    const { error } = await runAgainst({ status, headers: JSON_TYPE, body });
    expect(error).toMatchObject({
      code: "engine_rejected",
      message: `The engine refused the platform's key (${status}).`,
    });
  });

  test.each([
    [{ error: { code: 429, details: [{ retryDelay: "34s" }] } }, 34_000],
    [{ error: { message: "Rate limit reached. Please try again in 7.66s." } }, 7_660],
    [{ error: { message: "Slow down." } }, undefined],
  ])("of 429 whose error alone says when: %j", async (body, retryAfterMs) => {
    const answer = { status: 429, headers: JSON_TYPE, body: [JSON.stringify(body)] };
    expect((await runAgainst(answer)).error).toMatchObject({ retryAfterMs });
  });

  test("and a proxy's page tells nothing of the page", async () => {
    const { error } = await runAgainst({
      status: 502,
      headers: { "content-type": "text/html" },
      body: ["<html><h1>Bad gateway"],
    });
    expect(error).toMatchObject({ message: "The engine answered 502.", said: undefined });
  });

  test("and an endless body is not read to its end", async () => {
    const body = Array<string>(100).fill("x".repeat(16_384));
    const { error } = await runAgainst({ status: 400, body, end: "never" });
    expect(error).toMatchObject({
      code: "engine_rejected",
      message: "The engine answered 400.",
    });
  });

  test.each([
    [
      { error: "model is loading" },
      "engine_failed",
      "The engine answered with an error.",
      "model is loading",
    ],
    [
      { error: { code: 503, message: "no slots" } },
      "engine_unavailable",
      "The engine answered 503 in its stream.",
      "no slots",
    ],
  ])(
    "of 200 and the error %j has failed, and nothing of it is in the message",
    async (body, code, message, said) => {
      const { error } = await runAgainst({ headers: JSON_TYPE, body: [JSON.stringify(body)] });
      expect(error).toMatchObject({ code, message, said });
    },
  );

  test("of 200 and an HTML page has failed, and nothing of the page is in the message", async () => {
    const { error } = await runAgainst({
      headers: { "content-type": "text/html" },
      body: ["<h1>the model says"],
    });
    expect(error).toMatchObject({
      code: "engine_failed",
      message: "The engine answered 200, but not with text/event-stream.",
      said: undefined,
    });
  });

  test.each(["text/plain", "application/json", ""])(
    "of 200 and a stream that is labelled %j is read",
    async (type) => {
      const { text, error } = await runAgainst({
        headers: { "content-type": type },
        body: [ROLE, content("Hel"), content("lo"), finish(), DONE],
      });
      expect([text, error]).toEqual(["Hello", undefined]);
    },
  );

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("of 200 and a stream in %s, which was not asked for, is read", async (encoding, compress) => {
    const body = [compress([ROLE, content("Hello"), finish(), DONE].join(""))];
    const { text, error } = await runAgainst({ headers: { "content-encoding": encoding }, body });
    expect([text, error]).toEqual(["Hello", undefined]);
  });

  test("of 100, unasked, and then of 200 is read", async () => {
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 100 Continue\r\n\r\n");
        socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${content("Hello")}${finish()}${DONE}`,
        );
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { text, error } = await runAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    server.close();
    expect([text, error]).toEqual(["Hello", undefined]);
  });
});

describe("an upstream that begins to stream", () => {
  test("and cuts the connection has failed after what had come", async () => {
    const { events, error } = await runAgainst({ body: [ROLE, content("Hel")], end: "cut" });
    expect(events).toEqual([{ type: "text", text: "Hel" }]);
    expect(error).toMatchObject({ code: "engine_failed", retryable: true });
  });

  test("and falls silent has failed after idleTimeoutMs", async () => {
    // Undici counts what is longer than a second in ticks of half a second, of which a process that was asleep misses all but one.
    const { text, error } = await runAgainst(
      { body: [ROLE, content("Hel")], end: "never" },
      { idleTimeoutMs: 1_001 },
    );
    expect(text).toBe("Hel");
    expect(error).toMatchObject({ code: "engine_failed", message: "The engine sent nothing for 1001 ms." });
  });
});

describe("no error tells a word of the request or the model, nor the key,", () => {
  const SAID = "The password of Project Falcon is hunter2.";
  const echo = JSON.stringify({
    error: { message: `bad input: ${PROMPT} / ${REQUEST.stop![0]} / someone@example.org / ${KEY} / ${SAID}` },
  });

  test.each<[string, Answer]>([
    ["when an error repeats it", { status: 400, headers: JSON_TYPE, body: [echo] }],
    ["when a call's arguments are repeated", { status: 400, body: ["bad rock: Slettringen"] }],
    ["when a refused key is repeated", { status: 401, headers: JSON_TYPE, body: [echo] }],
    ["when an error in mid-stream repeats it", { body: [`data: ${echo}\n\n`] }],
    ["when a chunk that is not JSON repeats it", { body: [`data: {${PROMPT}\n\n`] }],
    ["when a chunk of another kind repeats it", { body: [frame({ choices: PROMPT })] }],
    ["when the answer is not a stream", { headers: JSON_TYPE, body: [echo] }],
    ["when the answer is the model's text", { headers: { "content-type": "text/plain" }, body: [SAID] }],
    ["when an error in mid-stream quotes the model", { body: [content(SAID), frame({ error: SAID })] }],
    [
      "when a bare error in mid-stream quotes the model",
      { body: [frame({ object: "error", message: SAID })] },
    ],
  ])("%s", async (_, answer) => {
    const { error } = await runAgainst(answer);
    expect(error).toMatchObject({ code: expect.stringMatching(/^engine_/) });
    const { message, stack, cause } = error as Error;
    const everything = JSON.stringify([message, stack, String(cause), Object.entries(error as Error)]);
    for (const part of [
      "4111",
      "lighthouse",
      "Ødegård",
      "the end of it all",
      "someone@",
      "Slettringen",
      "sleeps under",
      KEY.slice(0, 8),
      "Falcon",
      "hunter",
    ]) {
      expect(everything).not.toContain(part);
    }
  });
});
