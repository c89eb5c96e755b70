import { readFileSync } from "node:fs";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { toCall } from "./to-request.ts";

type Options = Partial<LanguageModelV4CallOptions>;

const prompt: LanguageModelV4CallOptions["prompt"] = [
  { role: "user", content: [{ type: "text", text: "Hi" }] },
];
const call = (options: Options = {}) => toCall("sim", { prompt, ...options });

/** The request without what is undefined, as it is sent. */
const requestOf = (options: Options) =>
  JSON.parse(JSON.stringify(call(options).request)) as Record<string, unknown>;

const TOOL = {
  type: "function",
  name: "look_up",
  description: "Looks up.",
  inputSchema: { type: "object", properties: { word: { type: "string" } } },
  strict: true,
} as const;
const BARE = { model: "sim", input: [{ role: "user", content: "Hi" }] };
const ENDING = {
  ...BARE,
  tool_calls: "end",
  tools: [{ name: "look_up", description: "Looks up.", parameters: TOOL.inputSchema, strict: true }],
};

/** Every option of a call, so that one that the AI SDK adds does not compile. */
const FIELDS = {
  prompt: "honoured",
  maxOutputTokens: "honoured",
  temperature: "honoured",
  topP: "honoured",
  topK: "honoured",
  presencePenalty: "honoured",
  frequencyPenalty: "honoured",
  stopSequences: "honoured",
  seed: "honoured",
  tools: "honoured",
  toolChoice: "honoured",
  responseFormat: "honoured",
  reasoning: "honoured",
  abortSignal: "honoured",
  headers: "ignored, with a warning",
  includeRawChunks: "ignored, with a warning",
  providerOptions: "honoured",
} as const satisfies Record<keyof LanguageModelV4CallOptions, string>;

it("the README says of each option of a call what becomes of it", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const table = /^\| of a call .*\n\|.*\n(?<rows>(\|.*\n)+)/m.exec(readme)?.groups?.["rows"] ?? "";
  const said = table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()))
    .flatMap(([, names = "", decision = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]): [string, string] => [name!, decision]),
    );
  expect(Object.fromEntries(said)).toEqual(FIELDS);
});

describe("a call", () => {
  it("with nothing but a prompt is a request with nothing but an input", () => {
    expect(requestOf({})).toEqual(BARE);
    expect(call()).toMatchObject({ idempotencyKey: undefined, warnings: [] });
  });

  it.each<[Options, object]>([
    [{ maxOutputTokens: 7 }, { max_output_tokens: 7 }],
    [{ temperature: 0 }, { temperature: 0 }],
    [
      { topP: 0.5, topK: 4 },
      { top_p: 0.5, top_k: 4 },
    ],
    [
      { presencePenalty: 1, frequencyPenalty: -1 },
      { presence_penalty: 1, frequency_penalty: -1 },
    ],
    [{ stopSequences: ["."] }, { stop: ["."] }],
    [{ stopSequences: [] }, {}],
    [{ seed: 0 }, { seed: 0 }],
    [{ responseFormat: { type: "text" } }, {}],
    [{ responseFormat: { type: "json" } }, { response_format: { type: "json_object" } }],
    [
      { responseFormat: { type: "json", schema: { type: "object" }, name: "city", description: "A city." } },
      {
        response_format: {
          type: "json_schema",
          schema: { type: "object" },
          name: "city",
          description: "A city.",
        },
      },
    ],
    [{ reasoning: "provider-default" }, {}],
    [{ reasoning: "none" }, { reasoning: { effort: "none" } }],
    [{ reasoning: "xhigh" }, { reasoning: { effort: "xhigh" } }],
  ])("with %j asks for %j", (options, expected) => {
    expect(requestOf(options)).toEqual({ ...BARE, ...expected });
    expect(call(options).warnings).toEqual([]);
  });

  it("with functions ends with their calls, and chooses among them", () => {
    const chosen = (toolChoice: NonNullable<Options["toolChoice"]>) =>
      requestOf({ tools: [TOOL], toolChoice });
    expect(requestOf({ tools: [TOOL] })).toEqual(ENDING);
    expect(chosen({ type: "auto" })).toEqual({ ...ENDING, tool_choice: "auto" });
    expect(chosen({ type: "required" })).toEqual({ ...ENDING, tool_choice: "required" });
    expect(chosen({ type: "none" })).toEqual({ ...ENDING, tool_choice: "none" });
    expect(chosen({ type: "tool", toolName: "look_up" })).toEqual({
      ...ENDING,
      tool_choice: { name: "look_up" },
    });
    expect(requestOf({ tools: [], toolChoice: { type: "auto" } })).toEqual(BARE);
  });

  it("has what else a request may say from providerOptions.reprise, and its key", () => {
    const reprise = { conversation: "conv_1", options: { tokens: 5 }, idempotencyKey: "order-7" };
    const options = { providerOptions: { reprise, other: { conversation: "conv_2" } } };
    expect(requestOf(options)).toEqual({ ...BARE, conversation: "conv_1", options: { tokens: 5 } });
    const headers = { "Idempotency-Key": "order-8" };
    expect(call({ headers }).idempotencyKey).toBe("order-8");
    expect(call({ headers, ...options }).idempotencyKey).toBe("order-7");
  });

  it.each<[Options, string]>([
    [{ headers: { "x-trace": "1", "user-agent": "ai/7", "idempotency-key": "k" } }, "headers.x-trace"],
    [{ includeRawChunks: true }, "includeRawChunks"],
    [{ reasoning: "max" }, "reasoning"],
    [{ tools: [{ ...TOOL, inputExamples: [{ input: { word: "log" } }] }] }, "tools.look_up.inputExamples"],
  ])("with %j is warned of %s", (options, feature) => {
    expect(call(options).warnings.map((warning) => "feature" in warning && warning.feature)).toEqual([
      feature,
    ]);
  });

  it("with another provider's tool is refused by name", () => {
    const tools: Options["tools"] = [{ type: "provider", id: "openai.web_search", name: "search", args: {} }];
    expect(() => call({ tools })).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        param: "tools",
        message: expect.stringContaining("openai.web_search"),
      }),
    );
  });
});
