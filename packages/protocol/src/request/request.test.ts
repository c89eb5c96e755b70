import { describe, expect, it } from "vitest";
import { LIMITS } from "./fields/limits.ts";
import { parseGenerationRequest, parseIdempotencyKey, parseToolResult } from "./request.ts";

const BASE = { model: "sim", input: "Hi" };
const message = { role: "user", content: "Hi" };

/** For every limit: the field, a value at it, a value just beyond it, and the text that the refusal must have. */
const LIMIT_CASES: [
  name: string,
  field: string,
  at: unknown,
  beyond: unknown,
  says: RegExp,
  param?: string,
][] = [
  ["the length of a model's name", "model", "m".repeat(64), "m".repeat(65), /1 to 64 characters/],
  ["the least input", "input", "x", "", />=1 characters/],
  [
    "the number of messages",
    "input",
    messages(LIMITS.messages),
    messages(LIMITS.messages + 1),
    /1 to 1024 messages/,
  ],
  ["the least number of messages", "input", [message], [], /1 to 1024 messages/],
  ["max_output_tokens", "max_output_tokens", LIMITS.outputTokens, LIMITS.outputTokens + 1, /1000000/],
  ["the least max_output_tokens", "max_output_tokens", 1, 0, /1/],
  ["temperature", "temperature", LIMITS.temperature, LIMITS.temperature + 0.001, /2/],
  ["the least temperature", "temperature", 0, -0.001, /0/],
  [
    "the number of stop sequences",
    "stop",
    Array(LIMITS.stopSequences).fill("x"),
    Array(LIMITS.stopSequences + 1).fill("x"),
    /4/,
  ],
  ["the least number of stop sequences", "stop", ["x"], [], /1/],
  [
    "the length of a stop sequence",
    "stop",
    ["x".repeat(LIMITS.stopLength)],
    ["x".repeat(LIMITS.stopLength + 1)],
    /256/,
    "stop.0",
  ],
  ["the least length of a stop sequence", "stop", ["x"], ["x", ""], /1/, "stop.1"],
  ["seed", "seed", LIMITS.seed, LIMITS.seed + 1, /2147483647/],
  ["the least seed", "seed", 0, -1, /0/],
  [
    "the depth of options",
    "options",
    nest(LIMITS.optionsDepth),
    nest(LIMITS.optionsDepth + 1),
    /at most 32 deep/,
  ],
  [
    "the number of metadata pairs",
    "metadata",
    pairs(LIMITS.metadataPairs),
    pairs(LIMITS.metadataPairs + 1),
    /at most 16 pairs/,
  ],
  [
    "the length of a metadata key",
    "metadata",
    { ["k".repeat(64)]: "v" },
    { ["k".repeat(65)]: "v" },
    /keys of 1 to 64 characters/,
  ],
  ["the least length of a metadata key", "metadata", { k: "v" }, { "": "v" }, /keys of 1 to 64 characters/],
  [
    "the length of a metadata value",
    "metadata",
    { k: "v".repeat(512) },
    { k: "v".repeat(513) },
    /512/,
    "metadata.k",
  ],
  ["the length of a subject", "subject", "s".repeat(128), "s".repeat(129), /128/],
  ["the least length of a subject", "subject", "s", "", /1/],
  ["the length of an end user", "end_user", "u".repeat(128), "u".repeat(129), /1 to 128 visible/],
  ["the least length of an end user", "end_user", "u", "", /1 to 128 visible/],
  ["the number of tools", "tools", tools(LIMITS.tools), tools(LIMITS.tools + 1), /128/],
  ["the least number of tools", "tools", tools(1), [], /1/],
  [
    "the length of a tool's name",
    "tools",
    [{ name: "n".repeat(64) }],
    [{ name: "n".repeat(65) }],
    /1 to 64 characters/,
    "tools.0.name",
  ],
  [
    "the length of a tool's description",
    "tools",
    [{ name: "n", description: "d".repeat(LIMITS.toolDescriptionLength) }],
    [{ name: "n", description: "d".repeat(LIMITS.toolDescriptionLength + 1) }],
    /4096/,
    "tools.0.description",
  ],
  [
    "the depth of a tool's schema",
    "tools",
    [{ name: "n", parameters: nest(LIMITS.toolParametersDepth) }],
    [{ name: "n", parameters: nest(LIMITS.toolParametersDepth + 1) }],
    /at most 32 deep/,
    "tools.0.parameters",
  ],
  ["top_p", "top_p", 1, 1.01, /1/],
  ["top_k", "top_k", LIMITS.topK, LIMITS.topK + 1, /1000000/],
  ["min_p", "min_p", 1, 1.01, /1/],
  ["frequency_penalty", "frequency_penalty", 2, 2.1, /2/],
  ["the least presence_penalty", "presence_penalty", -2, -2.1, /-2/],
  ["repetition_penalty", "repetition_penalty", 2, 2.1, /2/],
  ["logprobs", "logprobs", 20, 21, /20/],
  ["a logit's bias", "logit_bias", { 7: -100 }, { 7: -101 }, /-100/, "logit_bias.7"],
  ["the tokens of a bias", "logit_bias", bias(1_024), bias(1_025), /at most 1024 tokens/],
  [
    "the depth of a format's schema",
    "response_format",
    { type: "json_schema", schema: nest(LIMITS.schemaDepth) },
    { type: "json_schema", schema: nest(LIMITS.schemaDepth + 1) },
    /at most 64 deep/,
    "response_format.schema",
  ],
  [
    "the values of a format's schema",
    "response_format",
    { type: "json_schema", schema: { required: Array(LIMITS.schemaValues - 2).fill("a") } },
    { type: "json_schema", schema: { required: Array(LIMITS.schemaValues - 1).fill("a") } },
    /at most 20000 values/,
    "response_format.schema",
  ],
  [
    "the values of all tools' schemas",
    "tools",
    [{ name: "n", parameters: { required: Array(LIMITS.schemaValues - 3).fill("a") } }],
    [{ name: "n", parameters: { required: Array(LIMITS.schemaValues - 2).fill("a") } }],
    /at most 20000 values/,
  ],
  [
    "the length of a format's description",
    "response_format",
    { type: "json_schema", schema: {}, description: "d".repeat(4_096) },
    { type: "json_schema", schema: {}, description: "d".repeat(4_097) },
    /4096/,
    "response_format.description",
  ],
  ["max_attempts", "policy", { max_attempts: 10 }, { max_attempts: 11 }, /10/, "policy.max_attempts"],
  ["the least max_attempts", "policy", { max_attempts: 1 }, { max_attempts: 0 }, /1/, "policy.max_attempts"],
];

describe("a request", () => {
  it("with nothing but a model and an input is taken as it is", () => {
    expect(parseGenerationRequest(BASE)).toEqual(BASE);
  });

  it.each(LIMIT_CASES)(
    "at the limit of %s is taken, beyond it refused with the field and the limit",
    (_, field, at, beyond, says, param = field) => {
      const body = { ...BASE, [field]: at };
      expect(parseGenerationRequest(body)).toEqual(body);
      const refusal = refusalOf({ ...BASE, [field]: beyond });
      expect(refusal).toMatchObject({ code: "invalid_request", param });
      expect(refusal.message.startsWith(`${param}: `)).toBe(true);
      expect(refusal.message.slice(param.length)).toMatch(says);
    },
  );

  it.each([
    ["max_output_tokens", 1.5],
    ["max_output_tokens", "5"],
    ["temperature", Number.NaN],
    ["temperature", null],
    ["seed", 0.5],
    ["stop", "x"],
    ["input", 7],
    ["input", [{ role: "tool", content: "x" }]],
    ["input", [{ role: "user", content: "x", name: "y" }]],
    ["options", []],
    ["options", null],
    ["options", { at: new Date(0) }],
    ["options", { n: Number.POSITIVE_INFINITY }],
    ["metadata", { n: 7 }],
    ["subject", 7],
    ["priority", "urgent"],
    ["priority", ""],
    ["priority", null],
    ["end_user", "a b"],
    ["end_user", "ü"],
    ["end_user", "\ud800"],
    ["tools", {}],
    ["tools", [{}]],
    ["tools", [{ name: "a.b" }]],
    ["tools", [{ name: "a", type: "browser" }]],
    ["tools", [{ name: "a", strict: "yes" }]],
    ["tool_choice", "auto"],
    ["tool_choice", "any"],
    ["parallel_tool_calls", true],
    ["tool_calls", "stop"],
    ["top_p", 0],
    ["top_k", 0],
    ["min_p", -0.1],
    ["repetition_penalty", 0],
    ["logit_bias", { cat: 1 }],
    ["logit_bias", { "07": 1 }],
    ["logprobs", true],
    ["reasoning", { effort: "most" }],
    ["reasoning", { max_tokens: 0 }],
    ["verbosity", "none"],
    ["response_format", "json"],
    ["response_format", { type: "json_schema" }],
    ["response_format", { type: "json_object", schema: {} }],
    ["service_tier", "scale"],
    ["tools", [{ name: "a" }, { name: "a" }]],
    ["model", undefined],
  ])("with a wrong %s is refused by its name: %j", (field, value) => {
    const refusal = refusalOf({ ...BASE, [field]: value });
    expect(refusal.code).toBe("invalid_request");
    expect(refusal.param?.split(".")[0]).toBe(field);
  });

  it.each([
    [{ ...BASE, inputs: "x" }, "inputs"],
    [{ ...BASE, policy: { audit: {} } }, "policy.audit"],
    [{ ...BASE, policy: { moderation: { modes: "gate" } } }, "policy.moderation.modes"],
    [JSON.parse('{"model":"sim","input":"Hi","__proto__":{}}'), "__proto__"],
  ])("with an unknown field is refused: %j", (body, param) => {
    expect(refusalOf(body)).toMatchObject({
      code: "invalid_request",
      param,
      message: `${param}: is not a known field`,
    });
  });

  it.each([undefined, null, 7, "x", [], [BASE]])("that is not an object is refused: %j", (body) => {
    expect(refusalOf(body)).toMatchObject({ code: "invalid_request", param: "body" });
  });

  it("says with what it may call its tools only of tools that it has", () => {
    const body = { ...BASE, tools: [{ name: "a" }] };
    for (const choice of ["auto", "none", "required", { name: "a" }]) {
      expect(parseGenerationRequest({ ...body, tool_choice: choice }).tool_choice).toEqual(choice);
    }
    expect(refusalOf({ ...body, tool_choice: { name: "b" } })).toMatchObject({
      param: "tool_choice.name",
    });
    expect(refusalOf({ ...BASE, parallel_tool_calls: true })).toMatchObject({ param: "parallel_tool_calls" });
  });

  it.each([
    ["auto", undefined],
    ["flex", "batch"],
    ["default", "interactive"],
    ["priority", "interactive"],
  ] as const)("with the service tier %s has the priority %s, and may not contradict it", (tier, priority) => {
    const body = { ...BASE, service_tier: tier };
    expect(parseGenerationRequest(body)).toEqual({ ...body, ...(priority && { priority }) });
    const other = priority === "batch" ? "interactive" : "batch";
    const contradicts = () => parseGenerationRequest({ ...body, priority: other }).priority;
    expect(tier === "auto" ? contradicts() : refusalOf({ ...body, priority: other }).param).toBe(
      tier === "auto" ? other : "service_tier",
    );
  });

  it("nested as deep as a body can be is refused, not a stack overflow", () => {
    const deep = 400_000;
    const options = { x: JSON.parse("[".repeat(deep) + "]".repeat(deep)) as unknown };
    expect(refusalOf({ ...BASE, options })).toMatchObject({ code: "invalid_request", param: "options" });
  });

  it("keeps options and metadata with names that objects have of their own", () => {
    const body = { ...BASE, metadata: { toString: "a", constructor: "b" }, options: { hasOwnProperty: 1 } };
    expect(parseGenerationRequest(body)).toEqual(body);
  });
});

describe("a tool's answer", () => {
  const long = "x".repeat(LIMITS.toolOutputBytes - 2);

  it.each([null, false, 0, "", "text", [], {}, { found: [1, null, { deep: true }] }, long])(
    "may be any JSON value: %j",
    (output) => expect(parseToolResult({ call_id: "c", output })).toEqual({ call_id: "c", output }),
  );

  it("may be parts in the place of that", () => {
    const content = [
      { type: "text", text: "A map:" },
      { type: "image", blob: `blob_${"0".repeat(26)}` },
      { type: "file", url: "data:text/plain;base64,AAAA", name: "a.txt" },
    ];
    expect(parseToolResult({ call_id: "c", content })).toEqual({ call_id: "c", content });
  });

  it.each([
    [{ call_id: "c", output: 1, content: [{ type: "text", text: "" }] }, "output"],
    [{ call_id: "c", content: [] }, "content"],
    [{ call_id: "c", content: [{ type: "image", url: "https://a.example/b.png" }] }, "content.0.url"],
    [{ call_id: "c", content: [{ type: "refusal", refusal: "No." }] }, "content.0.type"],
    [{ call_id: "c", content: [{ type: "text", text: long }] }, "content"],
    [{ call_id: "", output: 1 }, "call_id"],
    [{ call_id: "c".repeat(LIMITS.toolCallIdLength + 1), output: 1 }, "call_id"],
    [{ output: 1 }, "call_id"],
    [{ call_id: "c" }, "output"],
    [{ call_id: "c", output: Number.NaN }, "output"],
    [{ call_id: "c", output: `${long}x` }, "output"],
    [{ call_id: "c", output: "é".repeat(LIMITS.toolOutputBytes / 2) }, "output"],
    [{ call_id: "c", output: deepArray(LIMITS.toolOutputDepth + 1) }, "output"],
    [{ call_id: "c", output: deepArray(400_000) }, "output"],
    [{ call_id: "c", output: 1, is_error: true }, "is_error"],
    [null, "body"],
  ])("that is wrong or over a limit is refused by the field's name", (body, param) => {
    expect(() => parseToolResult(body)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });
});

describe("an idempotency key", () => {
  it.each(["k", "~!", "k".repeat(255)])("is taken: %s", (key) => {
    expect(parseIdempotencyKey(key)).toBe(key);
  });

  it.each(["", "k".repeat(256), "a b", "é", "a\n", "\x7f", undefined, ["k", "k"]])(
    "is refused with its name and limit: %j",
    (key) => {
      expect(() => parseIdempotencyKey(key)).toThrow(
        expect.objectContaining({
          code: "invalid_request",
          param: "Idempotency-Key",
          message: expect.stringContaining("1 to 255"),
        }),
      );
    },
  );
});

function refusalOf(body: unknown): { code: string; param?: string; message: string } {
  try {
    parseGenerationRequest(body);
  } catch (error) {
    return error as { code: string; param?: string; message: string };
  }
  throw new Error("the request was taken");
}

function messages(count: number): object[] {
  return Array.from({ length: count }, () => message);
}

/** An object that nests `depth` deep, itself counted. */
function nest(depth: number): object {
  return depth === 1 ? {} : { x: nest(depth - 1) };
}

function deepArray(depth: number): unknown {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

function tools(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ name: `tool_${i}`, description: "", parameters: {} }));
}

function bias(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 1]));
}

function pairs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
}
