import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../testing/any-text.ts";
import { content, delta, DONE, finish, frame, ROLE, toolCalls, usage } from "../../testing/chat-frames.ts";
import { collect } from "../../testing/collect.ts";
import { answerOf } from "../../testing/answer-of.ts";
import { readChatStream } from "./chat-stream.ts";

/** Runs a stream that comes in these pieces; `pieces` is how often the reader was told of a piece of a call. */
async function read(parts: readonly (string | Uint8Array)[]) {
  const { signal } = new AbortController();
  async function* body() {
    const utf8 = new TextEncoder();
    for (const part of parts) yield typeof part === "string" ? utf8.encode(part) : part;
  }
  let pieces = 0;
  const onPiece = () => void pieces++;
  const collected = await collect(readChatStream(answerOf(body()), { signal, producedTokens: 0, onPiece }));
  return { ...collected, pieces };
}

const call = (callId: string | undefined, name: string, args: string) => ({
  type: "tool_call",
  callId,
  name,
  arguments: args,
});
const end = (reason: string, outputTokens: number, inputTokens: number | null = null) => ({
  type: "finish",
  reason,
  usage: { input_tokens: inputTokens, output_tokens: outputTokens },
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
      end("tool_calls", 31, 20),
    ]);
  });

  test.each([
    ["stop, as from Ollama", "stop"],
    ["function_call", "function_call"],
    ["eos_token, as from TGI", "eos_token"],
  ])("finishes with tool_calls where the upstream says %s", async (_, reason) => {
    expect((await read([...WEATHER, finish(reason), DONE])).events).toEqual([ASKED, end("tool_calls", 3)]);
  });

  test.each(["length", "content_filter"])("leaves out the calls of an answer cut by %s", async (reason) => {
    expect((await read([content("a"), ...WEATHER.slice(0, 2), finish(reason), DONE])).events).toEqual([
      { type: "text", text: "a" },
      end(reason, 3),
    ]);
  });

  test("takes a whole call with the finish reason in the same chunk, and arguments that are an object", async () => {
    const fields = { tool_calls: [{ function: { name: "get_weather", arguments: { city: "Oslo" } } }] };
    expect((await read([delta(fields, "tool_calls"), DONE])).events).toEqual([
      call(undefined, "get_weather", '{"city":"Oslo"}'),
      end("tool_calls", 1),
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

  test("says that a piece has come with each chunk that has one", async () => {
    expect((await read([content("a"), ...WEATHER, finish("tool_calls"), DONE])).pieces).toBe(3);
  });

  test("has failed, and asks for nothing, when it ends within a call", async () => {
    expect(await read([...WEATHER.slice(0, 2), DONE])).toMatchObject({
      events: [],
      error: { code: "engine_failed" },
    });
  });

  test("of the older kind is one call", async () => {
    const older = delta({ function_call: { name: "get_weather", arguments: "{}" } });
    expect((await read([older, finish("function_call"), DONE])).events).toEqual([
      call(undefined, "get_weather", "{}"),
      end("tool_calls", 1),
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

  test("gives every call that was made, however arguments and bytes are cut", async () => {
    const anyCall = fc.record({
      id: fc.uuid(),
      name: fc.stringMatching(/^[a-z]{1,8}$/),
      args: anyText({ minLength: 1 }).map((text) => JSON.stringify({ text })),
      size: fc.integer({ min: 1, max: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyCall, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (calls, cuts) => {
          const frames = calls.flatMap(({ id, name, args, size }, index) => [
            toolCalls({ index, id, function: { name, arguments: "" } }),
            ...Array.from({ length: Math.ceil(args.length / size) }, (_, i) =>
              toolCalls({ index, function: { arguments: args.slice(i * size, (i + 1) * size) } }),
            ),
          ]);
          const bytes = new TextEncoder().encode([ROLE, ...frames, finish("tool_calls"), DONE].join(""));
          const at = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length];
          const { events } = await read(at.slice(1).map((stop, i) => bytes.subarray(at[i], stop)));
          expect(events).toEqual([
            ...calls.map(({ id, name, args }) => call(id, name, args)),
            end("tool_calls", frames.length),
          ]);
        },
      ),
    );
  });

  test("says nothing of calls in choices that were not asked for", async () => {
    const other = {
      index: 1,
      delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: "{}" } }] },
    };
    expect((await read([frame({ choices: [other] }), content("a"), finish(), DONE])).events).toHaveLength(2);
  });
});
