import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../testing/any-text.ts";
import { content, delta, DONE, finish, frame, ROLE, toolCalls, usage } from "../../testing/chat-frames.ts";
import { readChat } from "../../testing/read-chat.ts";
import type { ChatStreamOptions } from "./chat-stream.ts";

async function read(pieces: readonly (string | Uint8Array)[], options: Partial<ChatStreamOptions> = {}) {
  const { events, text, error, leftOut } = await readChat(pieces, options);
  const last = events.at(-1);
  return {
    text,
    error,
    leftOut,
    texts: events.flatMap((event) => (event.type === "text" ? [event.text] : [])),
    reasoning: events.map((event) => (event.type === "reasoning" ? event.text : "")).join(""),
    calls: events.flatMap((event) => (event.type === "tool_call" ? [[event.name, event.arguments]] : [])),
    states: events.flatMap((event) => (event.type === "tool_call" ? [event.providerState] : [])),
    finish: last?.type === "finish" ? last : undefined,
  };
}

const counted = (fields: object) => frame({ choices: [{ index: 0, delta: {} }], ...fields });
const USAGE = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
const UNSEEN = { prompt_tokens: 12, completion_tokens_details: {} };
const OSLO = '{"city":"Oslo"}';
const CALL = { index: 0, id: "a", type: "function", function: { name: "f", arguments: OSLO } };

describe("an answer with a finish reason", () => {
  test.each([
    ["on every chunk", [delta({ content: "a" }, "stop"), delta({ content: "b" }, "stop"), DONE]],
    ["on a chunk of reasoning", [delta({ reasoning: "Hm." }, "stop"), content("ab"), finish(), DONE]],
    ["on its first chunk", [delta({ role: "assistant" }, "stop"), content("ab"), DONE]],
    ["before its last text", [content("a"), finish(), content("b"), DONE]],
    ["that is the text null until the last", [delta({ content: "ab" }, "null"), delta({}, "STOP"), DONE]],
    ["in its delta", [delta({ content: "ab", finish_reason: "stop" }), DONE]],
  ])("%s has all of its text", async (_, pieces) => {
    const { text, error, finish: last } = await read(pieces);
    expect([text, error, last?.reason]).toEqual(["ab", undefined, "stop"]);
  });

  test("before the last piece of a call's arguments has the whole call", async () => {
    const { calls, finish: last } = await read([
      toolCalls({ index: 0, id: "a", function: { name: "f", arguments: '{"city":' } }),
      finish("tool_calls"),
      toolCalls({ index: 0, function: { arguments: '"Oslo"}' } }),
      DONE,
    ]);
    expect([calls, last?.reason]).toEqual([[["f", OSLO]], "tool_calls"]);
  });

  test("on every chunk has failed when it breaks off: its end is not known", async () => {
    const broken = frame({ error: { message: "worker lost", code: 500 } });
    const { text, error } = await read([
      delta({ content: "a" }, "stop"),
      delta({ content: "b" }, "stop"),
      broken,
    ]);
    expect(text).toBe("ab");
    expect(error).toMatchObject({ code: "engine_failed" });
  });
});

describe("an answer without a finish reason", () => {
  test("but with [DONE] is whole, and says that its reason is missing", async () => {
    const said = await read([ROLE, content("a"), usage(3, 1), DONE]);
    expect(said.finish).toMatchObject({ reason: "stop", isReasonMissing: true, usage: { input_tokens: 3 } });
    const called = await read([toolCalls(CALL), DONE]);
    expect([called.calls, called.finish]).toMatchObject([
      [["f", OSLO]],
      { reason: "tool_calls", isReasonMissing: true },
    ]);
  });

  test.each([
    ["with [DONE] alone", [ROLE, DONE]],
    ["with [DONE] after reasoning alone", [delta({ reasoning: "Hm." }), DONE]],
    ["with [DONE] within a call", [toolCalls({ ...CALL, function: { name: "f", arguments: "{" } }), DONE]],
    ["and without [DONE]", [content("a")]],
  ])("%s has failed", async (_, pieces) => {
    expect((await read(pieces)).error).toMatchObject({ code: "engine_failed", retry: "broken" });
  });
});

describe("a tool call", () => {
  test.each([
    ["without an index", [{ ...CALL, index: undefined }]],
    ["with an index that is a text", [{ ...CALL, index: "0" }]],
    ["with the index -1", [{ ...CALL, index: -1 }]],
    ["with an id that is a number", [{ ...CALL, id: 7 }]],
    ["that is no list", { ...CALL }],
    ["whose fields are beside its function", [{ index: 0, id: "a", name: "f", arguments: OSLO }]],
    ["whose arguments are an object", [{ ...CALL, function: { name: "f", arguments: { city: "Oslo" } } }]],
    ["among pieces that say nothing", [null, { index: 4 }, CALL, { index: 5, function: {} }]],
  ])("%s is read", async (_, calls) => {
    expect((await read([delta({ tool_calls: calls }), finish("tool_calls"), DONE])).calls).toEqual([
      ["f", OSLO],
    ]);
  });

  test.each([[[]], ["[]"], ["{}"], [null], [""], [{}]])("with the arguments %j has none", async (args) => {
    const piece = toolCalls({ ...CALL, function: { name: "f", arguments: args } });
    expect((await read([piece, finish("tool_calls"), DONE])).calls).toEqual([["f", "{}"]]);
  });

  test("has what its provider wants back, up to 64 KiB", async () => {
    const state = { google: { thought_signature: "c2VhbGVk" } };
    const kept = await read([toolCalls({ ...CALL, extra_content: state }), finish("tool_calls"), DONE]);
    expect([kept.states, kept.leftOut]).toEqual([[state], []]);
    const large = { google: { thought_signature: "x".repeat(65_536) } };
    const left = await read([toolCalls({ ...CALL, extra_content: large }), finish("tool_calls"), DONE]);
    expect([left.states, left.leftOut]).toEqual([[undefined], ["provider state"]]);
  });
});

describe("usage", () => {
  test.each([
    ["in its choice", [frame({ choices: [{ delta: {}, finish_reason: "stop", usage: USAGE }] })]],
    ["in a gateway's own field", [finish(), counted({ x_groq: { id: "req", usage: USAGE } })]],
    ["by other names", [finish(), counted({ usage: { input_tokens: 12, output_tokens: 3 } })]],
    ["after zeros", [counted({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), finish(), usage(12, 3)]],
    [
      "before zeros",
      [finish(), usage(12, 3), counted({ usage: { prompt_tokens: 0, completion_tokens: 0 } })],
    ],
    [
      "in two parts",
      [counted({ usage: { prompt_tokens: 12 } }), finish(), counted({ usage: { completion_tokens: 3 } })],
    ],
    ["after [DONE]", [finish(), DONE, usage(12, 3)]],
    [
      "with reasoning in the total alone",
      [finish(), counted({ usage: { ...UNSEEN, completion_tokens: 1, total_tokens: 15 } })],
    ],
  ])("%s is counted", async (_, pieces) => {
    expect((await read([content("a"), ...pieces, DONE])).finish?.usage).toEqual({
      input_tokens: 12,
      output_tokens: 3,
    });
  });

  test("of zeros alone is unknown, and its pieces are counted", async () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0 };
    const { finish: last } = await read([
      frame({ choices: [{ delta: { content: "a" } }], usage: zeros }),
      frame({ choices: [{ delta: { content: "b" }, finish_reason: "stop" }], usage: zeros }),
      DONE,
    ]);
    expect(last?.usage).toEqual({ input_tokens: null, output_tokens: 2 });
  });
});

describe("a body", () => {
  const whole = (message: object, reason: string | null = "stop") =>
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: reason }],
      usage: USAGE,
    });

  test("that is a whole answer in JSON is read", async () => {
    const pieces = [whole({ role: "assistant", reasoning: "Hm.", content: "Hello" })].flatMap((text) => [
      " \n",
      text.slice(0, 20),
      text.slice(20),
    ]);
    const { text, reasoning, finish: last } = await read(pieces);
    expect([text, reasoning, last]).toMatchObject([
      "Hello",
      "Hm.",
      { reason: "stop", usage: { output_tokens: 3 } },
    ]);
    expect((await read([whole({ content: null, tool_calls: [CALL] }, "tool_calls")])).calls).toEqual([
      ["f", OSLO],
    ]);
  });

  test.each([
    ["JSON that was cut", [whole({ content: "Hello" }).slice(0, 40)], "engine_failed"],
    ["an HTML page", ["<html>Bad gateway</html>"], "engine_failed"],
    ["JSON without an answer", ['{"detail":"no"}'], "engine_failed"],
    ["an error in JSON", ['{"error":{"message":"no","code":429}}'], "engine_unavailable"],
  ])("that is %s has failed", async (_, pieces, code) => {
    expect((await read(pieces)).error).toMatchObject({ code });
  });
});

describe("a stream", () => {
  const lines = [content("He"), content("llo"), finish(), usage(12, 3), DONE];

  test.each([
    ["without an empty line after its last message", [lines.join("").trimEnd()]],
    ["without empty lines", [lines.join("").replaceAll("\n\n", "\n")]],
    ["with each field's name twice", lines.map((line) => `data: ${line}`)],
    ["of lines of JSON", [lines.slice(0, -1).join("").replaceAll("data: ", "").replaceAll("\n\n", "\n")]],
  ])("%s is read", async (_, pieces) => {
    const { text, error, finish: last } = await read(pieces);
    expect([text, error, last]).toMatchObject(["Hello", undefined, { usage: { output_tokens: 3 } }]);
  });

  test("with numbers that JSON does not have is read", async () => {
    const piece = `data: {"choices":[{"delta":{"content":"NaN \\"Infinity"},"logprobs":{"content":[{"logprob":-Infinity}]}}],"t":NaN}\n\n`;
    expect((await read([piece, finish(), DONE])).text).toBe('NaN "Infinity');
  });
});

describe("an error in the place of an answer", () => {
  test.each([
    [{ code: 429 }, "engine_unavailable", "busy"],
    [{ code: "503" }, "engine_unavailable", "busy"],
    [{ type: "overloaded_error" }, "engine_unavailable", "busy"],
    [{ type: "rate_limit_error" }, "engine_unavailable", "busy"],
    [{ status: "RESOURCE_EXHAUSTED" }, "engine_unavailable", "busy"],
    [{ code: 502 }, "engine_unavailable", "broken"],
    [{ code: 400 }, "engine_rejected", "never"],
    [{ code: "context_length_exceeded" }, "engine_rejected", "never"],
    [{ code: 401 }, "engine_rejected", "never"],
    [{ message: "no" }, "engine_failed", "broken"],
  ])("of %j is %s", async (error, code, retry) => {
    expect((await read([ROLE, frame({ error })])).error).toMatchObject({ code, retry });
    expect((await read([content("a"), frame({ error })])).error).toMatchObject({ code: "engine_failed" });
  });
});

describe("reasoning", () => {
  test.each([
    "reasoning",
    "reasoning_content",
    "reasoning_text",
    "thinking",
    "thinking_content",
    "thought",
    "thoughts",
  ])("is read by the name %s", async (name) => {
    const { reasoning, text } = await read([delta({ [name]: "Hm." }), content("a"), finish(), DONE]);
    expect([reasoning, text]).toEqual(["Hm.", "a"]);
  });

  test("is read from an object and from a list of it", async () => {
    for (const thinking of [{ text: "Hm." }, { content: "Hm." }, [{ type: "text", text: "Hm." }]])
      expect((await read([delta({ thinking }), content("a"), finish(), DONE])).reasoning).toBe("Hm.");
  });

  test("is told from text by its tags, however they are cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 12 }), async (cuts) => {
        const said = "\n<think>\n1 < 2, </thin\n\n</think>\n\nIt is <think>.";
        const at = [0, ...cuts.map((cut) => cut % said.length).toSorted((a, b) => a - b), said.length];
        const pieces = at.slice(1).map((stop, i) => content(said.slice(at[i], stop)));
        const told = await read([...pieces, finish(), DONE], { thinkTags: true });
        expect([told.reasoning.trim(), told.text]).toEqual(["1 < 2, </thin", "It is <think>."]);
      }),
    );
  });

  test.each([
    ["a < b", "", "a < b"],
    ["<thi", "", "<thi"],
    ["<think>never closed </th", "never closed </th", ""],
    ["<think></think>a", "", "a"],
  ])("in the text %j is %j", async (said, reasoning, text) => {
    const told = await read([content(said), finish(), DONE], { thinkTags: true });
    expect([told.reasoning, told.text]).toEqual([reasoning, text]);
  });

  test("ends with a tag that the template has opened", async () => {
    const told = await read([content("Hm."), content("\n</th"), content("ink>\n\nHello"), finish(), DONE], {
      thinkTags: "opened",
    });
    expect([told.reasoning, told.text]).toEqual(["Hm.", "Hello"]);
  });

  test("is text where the model is not known to write tags", async () => {
    expect((await read([content("<think>a</think>b"), finish(), DONE])).text).toBe("<think>a</think>b");
  });
});

describe("an answer whose end repeats or contradicts what came", () => {
  const whole = (message: object, more: object = {}) =>
    frame({
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: USAGE,
      ...more,
    });

  test("by a whole message has its words once", async () => {
    const {
      text,
      reasoning,
      finish: last,
    } = await read([
      delta({ reasoning: "Hm." }),
      content("Hel"),
      content("lo"),
      whole({ content: "Hello", reasoning: "Hm." }),
      DONE,
    ]);
    expect([text, reasoning, last]).toMatchObject([
      "Hello",
      "Hm.",
      { reason: "stop", usage: { output_tokens: 3 } },
    ]);
  });

  test("by whole calls has them once", async () => {
    const again = { ...CALL, function: { name: "f", arguments: '{ "city": "Oslo" }' } };
    expect((await read([toolCalls(CALL), toolCalls(again), finish("tool_calls"), DONE])).calls).toEqual([
      ["f", OSLO],
    ]);
  });

  test.each([
    ["length", "stop"],
    ["content_filter", "stop"],
  ])("by %s and then %s is cut", async (first, second) => {
    const half = toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{" } });
    const { calls, finish: last } = await read([content("a"), half, finish(first), finish(second), DONE]);
    expect([calls, last?.reason]).toEqual([[], first]);
  });

  test.each([
    [{ code: "InternalError", message: "no" }],
    [{ detail: "CUDA out of memory" }],
    [{ errors: [{ message: "no" }], success: false }],
    [{ error_code: 500, error_msg: "no" }],
    [{ choices: [{ index: 0, delta: {}, error: { message: "no" } }] }],
    [{ choices: null, base_resp: { status_code: 1002 } }],
  ])("by %j and [DONE] has failed", async (error) => {
    expect((await read([content("a"), frame(error), DONE])).error).toMatchObject({ code: "engine_failed" });
  });

  test.each([
    { code: 200, msg: "success" },
    { code: "SUCCESS", message: "done" },
    { status: "processing", message: "queued" },
  ])("by %j and a reason is whole", async (said) => {
    expect((await read([frame(said), content("a"), finish(), frame(said), DONE])).text).toBe("a");
  });

  test("by a word that is not known and [DONE] has failed, unless it has a reason", async () => {
    const word = "data: goodbye\n\n";
    expect((await read([content("a"), word, DONE])).error).toMatchObject({ code: "engine_failed" });
    expect((await read([content("a"), word, finish(), DONE])).error).toBeUndefined();
  });
});

describe("the name and the arguments of a call", () => {
  const piece = (name: string | undefined, args: string) =>
    toolCalls({ index: 0, ...(name === "get_" && { id: "a" }), function: { name, arguments: args } });

  test.each([
    ["in pieces", [piece("get_", ""), piece("weather", ""), piece(undefined, OSLO)]],
    ["that have all that came before", [piece("get_", ""), piece("get_weather", ""), piece(undefined, OSLO)]],
    [
      "with a template's mark",
      [piece("get_", ""), piece("weather<|channel|>json", ""), piece(undefined, OSLO)],
    ],
    [
      "with arguments that have all that came before",
      [piece("get_", ""), piece("weather", '{"ci'), piece(undefined, '{"city":"O'), piece(undefined, OSLO)],
    ],
  ])("%s are one call", async (_, pieces) => {
    expect((await read([...pieces, finish("tool_calls"), DONE])).calls).toEqual([["get_weather", OSLO]]);
  });
});

describe("half a character", () => {
  const half = (text: string) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;

  test("waits for its other half", async () => {
    const { texts } = await read([half("a\\ud83d"), half("\\ude00b"), finish(), DONE]);
    expect(texts).toEqual(["a", "😀b"]);
  });

  test.each([
    ["at the end", [half("a\\ud83d")], ["a", "\uFFFD"]],
    ["before another character", [half("\\ud83d"), half("b")], ["\uFFFDb"]],
    ["that is the second", [half("a\\ude00b")], ["a\uFFFDb"]],
  ])("%s becomes U+FFFD", async (_, pieces, expected) => {
    const { texts, finish: last } = await read([...pieces, finish(), DONE]);
    expect(texts).toEqual(expected);
    expect(last?.reason).toBe("stop");
  });

  test("in arguments becomes U+FFFD", async () => {
    const piece = `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\\"x\\":\\"\\ud83d\\"}"}}]}}]}\n\n`;
    expect((await read([piece, finish("tool_calls"), DONE])).calls).toEqual([["f", '{"x":"\uFFFD"}']]);
  });
});

describe("what carries no content", () => {
  const NOISE = [
    "data:\n\n",
    "data: \n\n",
    "data: pong\n\n",
    "data: null\n\n",
    "data: []\n\n",
    "data: {}\n\n",
    'event: ping\ndata: {"type":"ping"}\n\n',
    "event: ping\ndata: 2026-11-28 13:00\n\n",
    "event: metadata\ndata: took 3 ms\n\n",
    ": comment\n\n",
    "id: 7\nretry: 100\n\n",
    frame({ type: "ping" }),
    frame({ choices: [] }),
    frame({ choices: null, usage: null }),
    frame({ choices: [{ index: 0, delta: {}, finish_reason: null }], usage: "none", timings: 3 }),
    frame({ choices: [null], id: 3, model: {} }),
    delta({ role: "assistant", content: null, tool_calls: [], reasoning_details: "none", annotations: 4 }),
    delta({ content: "", tool_calls: [{ index: 9 }] }, "null"),
    counted({ usage: { prompt_tokens: 0, completion_tokens: 0 } }),
  ];

  test("changes nothing, wherever it comes", async () => {
    const answer = fc.record({
      texts: fc.array(anyText({ minLength: 1 }), { minLength: 1, maxLength: 5 }),
      thoughts: fc.array(anyText({ minLength: 1 }), { maxLength: 2 }),
      cuts: fc.array(fc.nat({ max: OSLO.length }), { maxLength: 3 }),
      hasCall: fc.boolean(),
    });
    const noise = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...NOISE)), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(answer, noise, async ({ texts, thoughts, cuts, hasCall }, added) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), OSLO.length];
        const pieces = at
          .slice(1)
          .map((stop, i) => toolCalls({ index: 0, function: { arguments: OSLO.slice(at[i], stop) } }));
        const head = toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "" } });
        const clean = [
          ROLE,
          ...thoughts.map((reasoning) => delta({ reasoning })),
          ...texts.map(content),
          ...(hasCall ? [head, ...pieces, finish("tool_calls")] : [finish()]),
          usage(12, 3),
          DONE,
        ];
        const noisy = [...clean];
        for (const [place, what] of added) noisy.splice(place % noisy.length, 0, what);
        const expected = await read(clean);
        expect(expected.error).toBeUndefined();
        expect(await read(noisy)).toEqual(expected);
      }),
    );
  });

  test.each([
    ["a chunk that was cut", 'data: {"choices":[{"delta":{"content":"b'],
    ["a text outside of JSON", "data: Once upon a lighthouse"],
    ["an error that is a text", "data: error"],
    ["content that is a number", 'data: {"choices":[{"delta":{"content":7}}]}'],
    ["choices that are no list", 'data: {"choices":{"delta":{}}}'],
  ])("is not %s", async (_, piece) => {
    const { text, error } = await read([content("a"), `${piece}\n\n`, finish(), DONE]);
    expect(text).toBe("a");
    expect(error).toMatchObject({ code: "engine_failed", retry: "broken" });
  });
});
