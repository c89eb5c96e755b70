import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { content, delta, DONE, finish, frame, ROLE, toolCalls, usage } from "../../testing/chat-frames.ts";
import { anyText } from "../../testing/any-text.ts";
import { collect } from "../../testing/collect.ts";
import { answerOf, readChat as read } from "../../testing/read-chat.ts";
import { readChatStream } from "./chat-stream.ts";
import { DOUBT_MS, SILENCE_MS, USAGE_WAIT_MS } from "./answer-reader.ts";

const BROKEN = new Error("the connection broke");

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
});

describe("a chat completion's stream that ends", () => {
  test("by breaking after its finish reason is whole", async () => {
    expect((await read([content("a"), finish()], { thrown: BROKEN })).events).toEqual([
      text("a"),
      end("stop", null, 1),
    ]);
  });

  test("by breaking before its finish reason has failed after what had come", async () => {
    expect(await read([content("a")], { thrown: BROKEN })).toMatchObject({
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
    ["with an error object", [content("a"), frame({ error: { message: "worker lost", code: 500 } })], "a"],
    ["with an error event", [content("a"), `event: error\n${frame({ message: "worker lost" })}`], "a"],
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
});

describe("after a finish reason", () => {
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

  test.each([
    [
      "with the finish reason",
      [
        delta({ content: "a" }),
        frame({ choices: [{ finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
      ],
    ],
    ["after it", [content("a"), finish(), usage(3, 1)]],
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

const call = (callId: string | undefined, name: string, args: string) => ({
  type: "tool_call",
  callId,
  name,
  arguments: args,
});
const WEATHER = [
  toolCalls({ index: 0, id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } }),
  toolCalls({ index: 0, function: { arguments: '{"city":' } }),
  toolCalls({ index: 0, function: { arguments: '"Oslo"}' } }),
];
const ASKED = call("call_1", "get_weather", '{"city":"Oslo"}');

describe("a chat completion's stream with tool calls", () => {
  test("gives its text as it comes and each call whole, before the finish", async () => {
    const second = toolCalls({ index: 1, id: "call_2", function: { name: "get_time", arguments: "{}" } });
    const { events, error } = await read([
      ROLE,
      content("Let me see."),
      ...WEATHER,
      second,
      finish("tool_calls"),
      usage(20, 31),
      DONE,
    ]);
    expect(error).toBeUndefined();
    expect(events).toEqual([
      { type: "text", text: "Let me see." },
      ASKED,
      call("call_2", "get_time", "{}"),
      end("tool_calls", 20, 31),
    ]);
  });

  test.each([
    ["stop, as from Ollama", "stop"],
    ["function_call", "function_call"],
    ["eos_token, as from TGI", "eos_token"],
  ])("finishes with tool_calls where the upstream says %s", async (_, reason) => {
    expect((await read([...WEATHER, finish(reason), DONE])).events).toEqual([
      ASKED,
      end("tool_calls", null, 3),
    ]);
  });

  test.each(["length", "content_filter"])("leaves out the calls of an answer cut by %s", async (reason) => {
    expect((await read([content("a"), ...WEATHER.slice(0, 2), finish(reason), DONE])).events).toEqual([
      { type: "text", text: "a" },
      end(reason, null, 3),
    ]);
  });

  test("reads nulls and empty texts as if they were not there", async () => {
    const pieces = [
      toolCalls({ index: 0, id: "call_1", function: { name: "get_weather", arguments: null } }),
      delta({ content: null, tool_calls: null }),
      toolCalls({ index: 0, id: "", type: null, function: { name: "", arguments: '{"city":"Oslo"}' } }),
      toolCalls({ index: 0, id: null, function: null }),
      delta({ tool_calls: [] }),
    ];
    expect((await read([...pieces, finish("tool_calls"), DONE])).events.slice(0, -1)).toEqual([ASKED]);
  });

  test("of the older kind is one call", async () => {
    const older = delta({ function_call: { name: "get_weather", arguments: "{}" } });
    expect((await read([older, finish("function_call"), DONE])).events).toEqual([
      call(undefined, "get_weather", "{}"),
      end("tool_calls", null, 1),
    ]);
  });

  test.each([
    [
      "names no function",
      toolCalls({ index: 0, id: "call_1", function: { arguments: '{"pin":"lighthouse"}' } }),
    ],
    ["has a name that is no text", toolCalls({ index: 0, function: { name: { lighthouse: 1 } } })],
    ["is no object", toolCalls("lighthouse" as never)],
    [
      "has too long arguments",
      delta({ tool_calls: [{ function: { name: "f", arguments: "lighthouse".repeat(14_000) } }] }, "stop"),
    ],
  ])("has failed when a call %s, and repeats nothing of it", async (_, piece) => {
    const { events, error } = await read([piece, finish("tool_calls"), DONE]);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "engine_failed" });
    expect(String(error) + String((error as Error).cause)).not.toContain("lighthouse");
  });
});
