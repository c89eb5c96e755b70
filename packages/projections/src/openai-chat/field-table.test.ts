import { readFile } from "node:fs/promises";
import type { ChatCompletionCreateParamsBase } from "openai/resources/chat/completions/completions";
import * as ts from "typescript";
import { describe, expect, it } from "vitest";
import { parseChatRequest } from "./parse-request.ts";

/** One sample of each field of OpenAI's API. */
const SAMPLES: {
  readonly [Field in keyof ChatCompletionCreateParamsBase]-?: ChatCompletionCreateParamsBase[Field];
} = {
  model: "other",
  messages: [{ role: "user", content: "Hello" }],
  audio: { format: "wav", voice: "alloy" },
  frequency_penalty: 0.5,
  function_call: "auto",
  functions: [{ name: "look_up" }],
  logit_bias: { "17": 3 },
  logprobs: true,
  max_completion_tokens: 7,
  max_tokens: 7,
  metadata: { team: "a" },
  modalities: ["text", "audio"],
  moderation: { model: "omni" },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: "content", content: "Hi" },
  presence_penalty: 0.5,
  prompt_cache_key: "k",
  prompt_cache_options: { mode: "implicit" },
  prompt_cache_retention: "24h",
  reasoning_effort: "low",
  response_format: { type: "json_object" },
  safety_identifier: "p-1",
  seed: 7,
  service_tier: "flex",
  stop: "END",
  store: true,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  tool_choice: "none",
  tools: [{ type: "function", function: { name: "seek" } }],
  top_logprobs: 2,
  top_p: 0.5,
  user: "u-1",
  verbosity: "low",
  web_search_options: {},
};

/** Other fields that a field requires. */
const NEEDS: { readonly [field: string]: object } = {
  parallel_tool_calls: { tools: [{ type: "function", function: { name: "look_up" } }] },
  stream_options: { stream: true },
  tool_choice: { tools: [{ type: "function", function: { name: "look_up" } }] },
  top_logprobs: { logprobs: true },
};

const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
const rows = [...readme.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \| (honoured|ignored|refused) \|/gm)].flatMap(
  ([, fields, verdict]) => [...fields!.matchAll(/[a-z_]+/g)].map(([field]) => [field, verdict!] as const),
);

function verdictOf(field: string): string {
  const base = { model: "sim", messages: [{ role: "user", content: "Hi" }], ...NEEDS[field] };
  const before = JSON.stringify(parseChatRequest(base));
  try {
    const after = parseChatRequest({ ...base, [field]: SAMPLES[field as keyof typeof SAMPLES] });
    return JSON.stringify(after) === before ? "ignored" : "honoured";
  } catch (error) {
    return (error as { param?: string }).param === field ? "refused" : String(error);
  }
}

describe("the table of fields", () => {
  it("lists each field of the openai package's types once", async () => {
    const file = new URL(import.meta.resolve("openai/resources/chat/completions/completions")).pathname;
    expect(rows.map(([field]) => field).toSorted()).toEqual(await fieldsOf(file));
  });

  it.each(rows)("tells what the parser does: %s is %s", (field, verdict) => {
    expect(verdictOf(field)).toBe(verdict);
  });
});

/** The fields of `ChatCompletionCreateParamsBase`, sorted. */
async function fieldsOf(module: string): Promise<string[]> {
  const path = module.replace(/\.m?js$/, ".d.ts");
  const source = ts.createSourceFile(path, await readFile(path, "utf8"), ts.ScriptTarget.Latest);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .filter(({ name }) => name.text === "ChatCompletionCreateParamsBase")
    .flatMap(({ members }) => members.map(({ name }) => (name as ts.Identifier).text))
    .toSorted();
}
