import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { content, delta, DONE, finish, frame, ROLE, toolCalls, usage } from "../../testing/chat-frames.ts";
import { anyText } from "../../testing/any-text.ts";
import { collect } from "../../testing/collect.ts";
import { answerOf } from "../../testing/answer-of.ts";
import { readChatStream } from "./chat-stream.ts";
import { DOUBT_MS, SILENCE_MS, USAGE_WAIT_MS } from "./answer-reader.ts";

const BROKEN = new Error("the connection broke");

/** Runs a stream that comes in these pieces, and then ends or throws. */
function read(
  pieces: readonly (string | Uint8Array)[],
  { thrown, producedTokens = 0 }: { thrown?: Error; producedTokens?: number } = {},
) {
  async function* body() {
    const utf8 = new TextEncoder();
    for (const piece of pieces) yield typeof piece === "string" ? utf8.encode(piece) : piece;
    if (thrown) throw thrown;
  }
  return collect(readChatStream(answerOf(body()), { signal: new AbortController().signal, producedTokens }));
}

const text = (piece: string) => ({ type: "text", text: piece });
const reasoning = (piece: string) => ({ type: "reasoning", text: piece });
const end = (reason: string, inputTokens: number | null, outputTokens: number, details: object = {}) => ({
  type: "finish",
  reason,
  usage: { input_tokens: inputTokens, output_tokens: outputTokens, ...details },
});

describe("a chat completion's stream", () => {
  test("becomes its texts and one finish with the usage that the upstream counted", async () => {
    const { events, error } = await read([ROLE, content("Hel"), content("lo"), finish(), usage(12, 7), DONE]);
    expect(error).toBeUndefined();
    expect(events).toEqual([text("Hel"), text("lo"), end("stop", 12, 7)]);
  });

  test("without usage counts its chunks and leaves the input open", async () => {
    const { events } = await read([
      ROLE,
      content("a"),
      delta({ reasoning: "b" }),
      content(""),
      content("c"),
      finish(),
      DONE,
    ]);
    expect(events.at(-1)).toEqual(end("stop", null, 3));
  });

  test("with nulls and absent fields where there is nothing to say is read as if they were not there", async () => {
    const chunks = [
      frame({ choices: [], prompt_filter_results: [] }),
      frame({
        choices: [{ index: 0, delta: { role: "assistant", content: null, reasoning_content: null } }],
        usage: null,
      }),
      frame({ choices: [{ delta: { content: "a" } }] }),
      frame({ choices: [{ index: 0, finish_reason: "" }] }),
      frame({ choices: [{ index: 0, delta: null, finish_reason: "stop" }], usage: {} }),
      frame({ usage: { prompt_tokens: null, completion_tokens: 3 } }),
    ];
    expect((await read([...chunks, DONE])).events).toEqual([text("a"), end("stop", null, 3)]);
  });

  test("gives reasoning by either of its names, and once when both are there", async () => {
    const chunks = [
      delta({ reasoning: "a" }),
      delta({ reasoning_content: "b" }),
      delta({ reasoning: "c", reasoning_content: "c" }),
      delta({ reasoning: "", reasoning_content: "d" }),
      delta({ reasoning: "e", content: "f" }),
    ];
    const { events } = await read([...chunks, finish(), DONE]);
    expect(events.slice(0, -1)).toEqual([...["a", "b", "c", "d", "e"].map(reasoning), text("f")]);
  });

  test("says nothing of choices that were not asked for", async () => {
    const chunk = frame({
      choices: [
        { index: 1, delta: { content: "no" } },
        { index: 0, delta: { content: "yes" } },
      ],
    });
    expect((await read([chunk, finish(), DONE])).text).toBe("yes");
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["tool_calls", "other"],
    ["function_call", "other"],
    ["eos_token", "stop"],
    ["model_length", "length"],
    ["unheard_of", "other"],
  ])("with the finish reason %s finishes with %s", async (said, reason) => {
    expect((await read([content("a"), finish(said), DONE])).events.at(-1)).toEqual(end(reason, null, 1));
  });

  test("keeps text that comes with the finish reason", async () => {
    expect((await read([delta({ content: "a" }, "length"), DONE])).events).toEqual([
      text("a"),
      end("length", null, 1),
    ]);
  });

  test("reads nothing behind [DONE]", async () => {
    expect((await read([content("a"), finish(), DONE, content("b"), "garbage"])).text).toBe("a");
  });

  test("is the same for comments, CRLF, named events and missing blanks", async () => {
    const plain = [ROLE, content("a"), finish(), usage(1, 2), DONE];
    const odd = [
      ": ping\n\n",
      ": ping\r\n",
      ...plain.map((part) => `event: message\nid: 7\n${part.replace("data: ", "data:")}`),
      ":\n\n",
    ];
    const expected = (await read(plain)).events;
    expect((await read(odd)).events).toEqual(expected);
    expect((await read(odd.map((part) => part.replaceAll("\n", "\r\n")))).events).toEqual(expected);
  });

  test("cut at every byte, within characters too, is the same stream", async () => {
    const bytes = new TextEncoder().encode(
      [ROLE, content("né日本🙂\r\n"), ": ping\r\n\r\n", finish(), usage(1, 4), DONE].join(""),
    );
    const whole = await read([bytes]);
    expect(whole.text).toBe("né日本🙂\r\n");
    for (let at = 0; at <= bytes.length; at++) {
      expect((await read([bytes.subarray(0, at), bytes.subarray(at)])).events).toEqual(whole.events);
    }
    expect((await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).events).toEqual(whole.events);
  });

  test("gives every text that was sent, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyText({ minLength: 1 }), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (texts, cuts) => {
          const bytes = new TextEncoder().encode([ROLE, ...texts.map(content), finish(), DONE].join(""));
          const at = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length];
          const { events } = await read(at.slice(1).map((stop, i) => bytes.subarray(at[i], stop)));
          expect(events).toEqual([...texts.map(text), end("stop", null, texts.length)]);
        },
      ),
    );
  });

  test("of a continued run does not count the prefix as input", async () => {
    const { events } = await read([content("a"), finish(), usage(50, 1), DONE], { producedTokens: 30 });
    expect(events.at(-1)).toEqual(end("stop", 20, 1));
  });
});

describe("a chat completion's stream that ends", () => {
  test("cleanly with a finish reason but without [DONE] is whole", async () => {
    expect((await read([content("a"), finish()])).events).toEqual([text("a"), end("stop", null, 1)]);
  });

  test("by breaking after its finish reason is whole", async () => {
    expect((await read([content("a"), finish()], { thrown: BROKEN })).events).toEqual([
      text("a"),
      end("stop", null, 1),
    ]);
  });

  test("by breaking before its finish reason has failed after what had come", async () => {
    expect(await read([content("a")], { thrown: BROKEN })).toEqual({
      events: [text("a")],
      text: "a",
      error: BROKEN,
    });
  });

  test.each([
    ["cleanly without a finish reason", [content("a")], "a"],
    ["before it has said anything", [], ""],
    ["after a message without an empty line", [content("a"), content("b").slice(0, -2)], "ab"],
    ["within a message", [content("a"), content("b").slice(0, -9)], "a"],
    ["with a chunk that is not JSON", [content("a"), "data: {oops\n\n"], "a"],
    ["with JSON that is no chunk", [content("a"), frame({ choices: "none" })], "a"],
    ["with a number", [content("a"), frame(7)], "a"],
    ["with content that is no text", [content("a"), delta({ content: 7 })], "a"],
    ["with an error object", [content("a"), frame({ error: { message: "worker lost", code: 500 } })], "a"],
    ["with an error that is a text", [content("a"), frame({ error: "worker lost" })], "a"],
    ["with an error event", [content("a"), `event: error\n${frame({ message: "worker lost" })}`], "a"],
    ["with an error event that is not JSON", [content("a"), "event: error\ndata: worker lost\n\n"], "a"],
    ["with a message that never ends", [content("a"), `data: ${"x".repeat(1_048_577)}`], "a"],
  ])("%s has failed after what had come", async (_, pieces, soFar) => {
    const { text: said, error, events } = await read(pieces);
    expect(said).toBe(soFar);
    expect(error).toMatchObject({ code: "engine_failed", retryable: true });
    expect(events.every(({ type }) => type !== "finish")).toBe(true);
  });

  test.each(["error", "abort", "timeout", "insufficient_system_resource"])(
    "with the finish reason %s, which is an error's, has failed after what had come",
    async (reason) => {
      const { text: said, error } = await read([content("a"), finish(reason), usage(3, 1), DONE]);
      expect(said).toBe("a");
      expect(error).toMatchObject({ code: "engine_failed", retry: "broken" });
    },
  );

  test.each([
    frame({ error: { message: "Once upon a lighthouse" } }),
    frame({ object: "error", message: "Once upon a lighthouse" }),
    `event: error\ndata: Once upon a lighthouse\n\n`,
    `data: Once upon a lighthouse\n\n`,
    frame({ choices: "Once upon a lighthouse" }),
    finish("Once upon a lighthouse") + content("unread"),
  ])("with an error has a message of the platform's own: %s", async (piece) => {
    const { error, events } = await read([piece]);
    expect(JSON.stringify([error, String(error), events])).not.toMatch(/lighthouse|upon/);
  });

  test.each([
    [{ error: { message: "no", code: 400 } }, "never"],
    [{ error: { message: "no", code: "422" } }, "never"],
    [{ error: { message: "no", code: 429 } }, "broken"],
    [{ error: { message: "no", code: 500 } }, "broken"],
    [{ object: "error", message: "no", code: 404 }, "never"],
    [{ error: "no" }, "broken"],
  ])("with the error %j can be asked again: %s", async (error, retry) => {
    expect((await read([content("a"), frame(error)])).error).toMatchObject({ retry });
  });
});

describe("behind a finish reason", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** A connection that stays open after these pieces. */
  function readOpen(...pieces: string[]) {
    const released = Promise.withResolvers<void>();
    async function* body() {
      for (const piece of pieces) yield new TextEncoder().encode(piece);
      await released.promise;
    }
    const { signal } = new AbortController();
    let finishedAtMs: number | undefined;
    const onFinished = () => void (finishedAtMs = Date.now());
    const run = collect(readChatStream(answerOf(body()), { signal, producedTokens: 0, onFinished }));
    return { run, finishedAt: () => finishedAtMs, release: released.resolve };
  }

  test("usage is waited for, for two seconds, though the connection stays open", async () => {
    const begunAtMs = Date.now();
    const { run, finishedAt } = readOpen(content("a"), finish());
    let ended = false;
    void run.then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(USAGE_WAIT_MS - 1);
    expect(finishedAt()).toBe(begunAtMs);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run).toEqual({ events: [text("a"), end("stop", null, 1)], text: "a", error: undefined });
  });

  test("frames without content do not make the wait longer", async () => {
    const ping = frame({ type: "ping" });
    async function* body() {
      yield new TextEncoder().encode(content("a") + finish());
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        yield new TextEncoder().encode(ping);
      }
    }
    const { signal } = new AbortController();
    const run = collect(readChatStream(answerOf(body()), { signal, producedTokens: 0 }));
    await vi.advanceTimersByTimeAsync(USAGE_WAIT_MS);
    expect((await run).events.at(-1)).toEqual(end("stop", null, 1));
  });

  test("a reason with the first words is not trusted for longer, nor one within a call", async () => {
    const half = toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{" } });
    for (const [pieces, error] of [
      [[delta({ content: "a" }, "stop"), usage(3, 1)], undefined],
      [[content("a"), half, finish("tool_calls"), usage(3, 1)], "The engine fell silent within a tool call."],
    ] as const) {
      const { run, finishedAt } = readOpen(...pieces);
      await vi.advanceTimersByTimeAsync(DOUBT_MS - 1);
      expect(finishedAt()).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1);
      expect((await run).error).toEqual(error && expect.objectContaining({ message: error }));
    }
  });

  test("comments do not make the wait longer", async () => {
    const { run } = readOpen(content("a"), finish(), ": ping\n\n", ": ping\n\n");
    await vi.advanceTimersByTimeAsync(USAGE_WAIT_MS);
    expect((await run).error).toBeUndefined();
  });

  test.each([
    [
      "with the finish reason",
      [
        delta({ content: "a" }),
        frame({ choices: [{ finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
      ],
    ],
    ["behind it", [content("a"), finish(), usage(3, 1)]],
  ])("no more than a second is waited for once usage has come %s", async (_, pieces) => {
    const { run } = readOpen(...pieces);
    await vi.advanceTimersByTimeAsync(SILENCE_MS);
    expect((await run).events).toEqual([text("a"), end("stop", 3, 1)]);
  });

  test("nothing is waited for once usage and [DONE] have come", async () => {
    expect((await readOpen(content("a"), finish(), usage(3, 1), DONE).run).events).toEqual([
      text("a"),
      end("stop", 3, 1),
    ]);
  });

  test("usage is waited for after [DONE], and nothing else is read there", async () => {
    const { run } = readOpen(content("a"), finish(), DONE, content("b"), usage(3, 1));
    expect((await run).events).toEqual([text("a"), end("stop", 3, 1)]);
  });

  test("a further text takes the end back, and is awaited for longer", async () => {
    const { run } = readOpen(content("a"), finish(), content("b"), finish("length"));
    let ended = false;
    void run.then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(DOUBT_MS - 1);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await run).events).toEqual([text("a"), text("b"), end("length", null, 2)]);
  });
});

describe("an upstream that counts as it goes", () => {
  const counted = (fields: object, predicted: number, prompt = 20) =>
    frame({
      choices: [{ index: 0, delta: fields }],
      timings: { cache_n: 5, prompt_n: prompt - 5, predicted_n: predicted },
    });
  const continuous = (fields: object, completion: number) =>
    frame({
      choices: [{ index: 0, delta: fields }],
      usage: { prompt_tokens: 20, completion_tokens: completion },
    });

  test.each([
    ["llama.cpp", counted, 5],
    ["vLLM", continuous, undefined],
  ])("has its own count in every piece, and the input's in the first: %s", async (_, chunk, cached) => {
    const { events } = await read([
      chunk({ role: "assistant", content: "" }, 0),
      chunk({ reasoning_content: "Hm" }, 2),
      chunk({}, 3),
      chunk({ content: "Hel" }, 5),
      chunk({ content: "lo" }, 6),
      finish(),
    ]);
    expect(events).toEqual([
      {
        type: "reasoning",
        text: "Hm",
        tokens: 2,
        inputTokens: 20,
        ...(cached && { cachedInputTokens: cached }),
      },
      { type: "text", text: "Hel", tokens: 3 },
      { type: "text", text: "lo" },
      end("stop", 20, 6, cached ? { cached_input_tokens: cached } : {}),
    ]);
  });

  test("that counts only with its last piece has that count for all of them, not for the last", async () => {
    const { events } = await read([
      content("Hel"),
      content("lo"),
      frame({
        choices: [{ index: 0, delta: { content: "!" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 20, completion_tokens: 3 },
      }),
    ]);
    expect(events).toEqual([text("Hel"), text("lo"), text("!"), end("stop", 20, 3)]);
  });

  test("does not count the pieces of a tool call as text", async () => {
    const piece = { tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] };
    const { events } = await read([
      counted({ content: "a" }, 1),
      counted(piece, 9),
      counted({ content: "b" }, 10),
      finish(),
    ]);
    expect(events).toMatchObject([
      { text: "a" },
      { text: "b" },
      { type: "tool_call" },
      end("tool_calls", 20, 10),
    ]);
    expect(events[1]).not.toHaveProperty("tokens");
  });

  test("of a continued run counts the prefix as no input", async () => {
    const { events } = await read([counted({ content: "a" }, 1, 50), finish()], { producedTokens: 30 });
    expect(events).toEqual([
      { ...text("a"), inputTokens: 20, cachedInputTokens: 5 },
      end("stop", 20, 1, { cached_input_tokens: 5 }),
    ]);
  });

  test("of a continued run has cached no more than the input without the prefix", async () => {
    const chunk = frame({
      choices: [{ index: 0, delta: { content: "a" } }],
      timings: { cache_n: 45, prompt_n: 5, predicted_n: 1 },
    });
    const { events } = await read([chunk, finish()], { producedTokens: 30 });
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 20, cached_input_tokens: 20 } });
  });

  test("tells cached tokens and reasoning by their details, and a malformed detail loses no count", async () => {
    const tell = (details: object) =>
      read([
        content("a"),
        finish(),
        frame({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 5, ...details } }),
      ]);
    const both = {
      prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    expect((await tell(both)).events.at(-1)).toEqual(
      end("stop", 9, 5, { cached_input_tokens: 8, reasoning_tokens: 4 }),
    );
    const none = [
      { prompt_tokens_details: null },
      { prompt_tokens_details: "8", completion_tokens_details: { reasoning_tokens: -1 } },
    ];
    for (const details of none) expect((await tell(details)).events.at(-1)).toEqual(end("stop", 9, 5));
  });

  test.each([
    [{ prompt_tokens: "20" }],
    [{ completion_tokens: -1 }],
    [[]],
    ["none"],
    [{ prompt_tokens: 1.5 }],
  ])(
    "in a field that is malformed, such as %j, has counted nothing, and loses no text",
    async (malformed) => {
      const { events, error } = await read([
        frame({ choices: [{ delta: { content: "a" } }], usage: malformed, timings: malformed }),
        frame({ choices: [{ delta: {}, finish_reason: "stop" }], usage: malformed }),
        DONE,
      ]);
      expect(error).toBeUndefined();
      expect(events).toEqual([text("a"), end("stop", null, 1)]);
    },
  );

  test("loses no count because of another one that is malformed", async () => {
    const said = { prompt_tokens: "9", completion_tokens: 5 };
    const { events } = await read([content("a"), finish(), frame({ choices: [], usage: said }), DONE]);
    expect(events.at(-1)).toEqual(end("stop", null, 5));
  });
});
