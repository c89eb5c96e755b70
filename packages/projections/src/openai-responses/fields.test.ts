import { readFile } from "node:fs/promises";
import type { ResponseCreateParamsBase } from "openai/resources/responses/responses";
import * as ts from "typescript";
import { describe, expect, it } from "vitest";
import { parseResponsesRequest } from "./parse-request.ts";

const look = { type: "function", name: "look_up", parameters: {}, strict: false } as const;

/** One sample of each field of OpenAI's API. */
const SAMPLES: { readonly [Field in keyof ResponseCreateParamsBase]-?: ResponseCreateParamsBase[Field] } = {
  access_programs: { cyber: "standard" },
  background: true,
  context_management: [{ type: "compaction" }],
  conversation: `conv_${"0".repeat(26)}`,
  image: { context_compression: "auto" },
  include: ["message.output_text.logprobs"],
  input: "Hello",
  instructions: "Be short.",
  max_output_tokens: 7,
  max_tool_calls: 3,
  metadata: { team: "a" },
  model: "other",
  moderation: { model: "omni" },
  parallel_tool_calls: false,
  previous_response_id: `resp_${"0".repeat(26)}3`,
  prompt: { id: "p" },
  prompt_cache_key: "k",
  prompt_cache_options: { mode: "implicit" },
  prompt_cache_retention: "24h",
  reasoning: { effort: "low", summary: "auto" },
  safety_identifier: "p-1",
  service_tier: "flex",
  store: true,
  stream: true,
  stream_options: { include_obfuscation: false },
  temperature: 0.5,
  text: { format: { type: "json_object" } },
  tool_choice: "none",
  tools: [look],
  top_logprobs: 2,
  top_p: 0.5,
  truncation: "auto",
  user: "u-1",
};

/** Other fields that a field requires. */
const NEEDS: { readonly [field: string]: object } = {
  parallel_tool_calls: { tools: [look] },
  tool_choice: { tools: [look] },
};

const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
const rows = [...readme.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \| (honoured|ignored|refused) \|/gm)].flatMap(
  ([, fields, verdict]) => [...fields!.matchAll(/[a-z_]+/g)].map(([field]) => [field, verdict!] as const),
);

function outcome(body: object): string {
  const { toNative, ...how } = parseResponsesRequest(body);
  return JSON.stringify([how, toNative(new Map())]);
}

function verdictOf(field: string): string {
  const base = { model: "sim", input: "Hi", ...NEEDS[field] };
  const before = outcome(base);
  try {
    const after = outcome({ ...base, [field]: SAMPLES[field as keyof typeof SAMPLES] });
    return after === before ? "ignored" : "honoured";
  } catch (error) {
    return (error as { param?: string }).param === field ? "refused" : String(error);
  }
}

describe("the table of fields", () => {
  it("lists each field of the openai package's types once", async () => {
    const file = new URL(import.meta.resolve("openai/resources/responses/responses")).pathname;
    expect(rows.map(([field]) => field).toSorted()).toEqual(await fieldsOf(file));
  });

  it.each(rows.filter(([field]) => field !== "truncation"))(
    "tells what the parser does: %s is %s",
    (field, verdict) => {
      expect(verdictOf(field)).toBe(verdict);
    },
  );

  it("refuses a truncation that it can't honour by its name", () => {
    expect(verdictOf("truncation")).toBe("refused");
    const disabled = { model: "sim", input: "Hi", truncation: "disabled" };
    expect(outcome(disabled)).toBe(outcome({ model: "sim", input: "Hi" }));
  });

  it("takes null for every field that may have it", () => {
    const nullable = Object.keys(SAMPLES).filter((field) => !["input", "model"].includes(field));
    const body = Object.fromEntries(nullable.map((field) => [field, null]));
    expect(outcome({ ...body, model: "sim", input: "Hi" })).toBe(outcome({ model: "sim", input: "Hi" }));
  });

  it("refuses a field that it does not know", () => {
    const known = { model: "sim", input: "Hi" };
    expect(() => parseResponsesRequest({ ...known, max_tokens: 3 })).toThrow(
      expect.objectContaining({ param: "max_tokens" }),
    );
  });
});

/** The fields of `ResponseCreateParamsBase`, sorted. */
async function fieldsOf(module: string): Promise<string[]> {
  const path = module.replace(/\.m?js$/, ".d.ts");
  const source = ts.createSourceFile(path, await readFile(path, "utf8"), ts.ScriptTarget.Latest);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .filter(({ name }) => name.text === "ResponseCreateParamsBase")
    .flatMap(({ members }) => members.map(({ name }) => (name as ts.Identifier).text))
    .toSorted();
}
