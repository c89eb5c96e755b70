import { describe, expect, it } from "vitest";
import { type GenerationRequest, parseGenerationRequest } from "../request/request.ts";
import { assertServable } from "./assert-servable.ts";
import { CAPABILITIES, type Capability, needsOf, toStoredNeeds } from "./capability.ts";
import { capabilitiesOf, capabilitiesSchema, DIALECTS } from "./dialect.ts";

const BASE = { model: "m", input: "Hi" };
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const tools = [{ name: "f" }];
const turn = (fields: object) => ({ input: [{ role: "assistant", content: "x", ...fields }] });
const part = (fields: object) => ({ input: [{ role: "user", content: [fields] }] });

/** No field of a request says by itself that there was something before it, or that tools will answer with parts. */
type OfFields = Exclude<Capability, "history" | "tool_content">;

/** For each capability the fields that need it, the field that is named, and what else they need. */
const CASES: Record<OfFields, [fields: object, param: string, others?: Capability[]]> = {
  tools: [{ tools }, "tools"],
  strict_tools: [{ tools: [{ name: "f" }, { name: "g", strict: true }] }, "tools.1.strict", ["tools"]],
  tool_choice: [{ tools, tool_choice: "required" }, "tool_choice", ["tools"]],
  named_tool_choice: [{ tools, tool_choice: { name: "f" } }, "tool_choice", ["tools"]],
  parallel_tool_calls: [{ tools, parallel_tool_calls: false }, "parallel_tool_calls", ["tools"]],
  end_on_tool_calls: [{ tool_calls: "end" }, "tool_calls"],
  content_parts: [part({ type: "text", text: "x" }), "input.0.content.0"],
  tool_history: [turn({ tool_calls: [{ call_id: "c", name: "f", arguments: "" }] }), "input.0.tool_calls"],
  reasoning_history: [turn({ reasoning: "Hm." }), "input.0.reasoning"],
  encrypted_reasoning: [turn({ reasoning: [{ encrypted: "x" }] }), "input.0.reasoning.0"],
  images: [part({ type: "image", url: PNG }), "input.0.content.0", ["content_parts"]],
  audio: [
    part({ type: "audio", url: PNG.replace("image/png", "audio/wav") }),
    "input.0.content.0",
    ["content_parts"],
  ],
  files: [part({ type: "file", url: PNG }), "input.0.content.0", ["content_parts"]],
  media_references: [
    part({ type: "file", blob: `blob_${"0".repeat(26)}` }),
    "input.0.content.0",
    ["content_parts", "files"],
  ],
  output_images: [{ options: { modalities: ["text", "image"] } }, "options.modalities"],
  output_audio: [{ options: { Audio: { voice: "alloy" } } }, "options.Audio"],
  json_object: [{ response_format: { type: "json_object" } }, "response_format"],
  json_schema: [{ response_format: { type: "json_schema", schema: {} } }, "response_format"],
  top_p: [{ top_p: 0.5 }, "top_p"],
  top_k: [{ top_k: 5 }, "top_k"],
  min_p: [{ min_p: 0 }, "min_p"],
  frequency_penalty: [{ frequency_penalty: 0 }, "frequency_penalty"],
  presence_penalty: [{ presence_penalty: 1 }, "presence_penalty"],
  repetition_penalty: [{ repetition_penalty: 1.1 }, "repetition_penalty"],
  logit_bias: [{ logit_bias: { 7: -1 } }, "logit_bias"],
  logprobs: [{ logprobs: 0 }, "logprobs"],
  reasoning_effort: [{ reasoning: { effort: "low" } }, "reasoning.effort"],
  reasoning_max_tokens: [{ reasoning: { max_tokens: 9 } }, "reasoning.max_tokens"],
  reasoning_summary: [{ reasoning: { summary: "auto" } }, "reasoning.summary"],
  verbosity: [{ verbosity: "low" }, "verbosity"],
  input_stream: [{ input: { stream: { format: "text" } } }, "input.stream"],
};
const EVERY = Object.entries(CASES) as [OfFields, (typeof CASES)[OfFields]][];
const parse = (fields: object): GenerationRequest => parseGenerationRequest({ ...BASE, ...fields });

describe("what a request needs", () => {
  it.each(EVERY)(
    "is %s where its field is there, and the field is named",
    (capability, [fields, param, others = []]) => {
      const needs = needsOf(parse(fields));
      expect(needs).toContainEqual({ capability, param });
      expect(new Set(needs.map((need) => need.capability))).toEqual(new Set([capability, ...others]));
    },
  );

  it("is nothing for texts, and nothing is stored with them", () => {
    const plain = parse({
      input: [
        { role: "system", content: "x" },
        { role: "assistant", content: "y" },
      ],
      seed: 1,
    });
    expect(needsOf(plain)).toEqual([]);
    expect(toStoredNeeds(needsOf(plain))).toBeUndefined();
    expect(toStoredNeeds(needsOf(parse({ tools })))).toBeUndefined();
    expect(toStoredNeeds(needsOf(parse({ tools, tool_choice: "none" })))).toEqual(["tool_choice"]);
  });
});

describe("a model", () => {
  it.each(EVERY)(
    "without %s refuses its field by name, and with all capabilities takes it",
    (capability, [fields, param]) => {
      const request = parse(fields);
      const without = new Set(CAPABILITIES.filter((name) => name !== capability));
      expect(() =>
        assertServable(request, needsOf(request), { engine: "openai", capabilities: without }),
      ).toThrow(
        expect.objectContaining({
          code: "capability_unsupported",
          param,
          message: expect.stringContaining(capability),
        }),
      );
      assertServable(request, needsOf(request), { engine: "openai", capabilities: new Set(CAPABILITIES) });
    },
  );

  it.each(["sim", "openai"] as const)("with the engine %s refuses wrong options", (engine) => {
    const request = parse({ options: { stream: false } });
    expect(() => assertServable(request, [], { engine, capabilities: new Set() })).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "options.stream" }),
    );
  });

  it.each([
    [{ top_p: 0.5, options: { topP: 1 } }, "options.topP"],
    [{ response_format: { type: "text" }, options: { grammar: "x" } }, "options.grammar"],
    [{ reasoning: { effort: "low" }, options: { reasoning_effort: "high" } }, "options.reasoning_effort"],
  ])("refuses an option that a field says already: %j", (fields, param) => {
    const request = parse(fields);
    const served = { engine: "openai", capabilities: new Set(CAPABILITIES) } as const;
    expect(() => assertServable(request, needsOf(request), served)).toThrow(
      expect.objectContaining({ code: "invalid_request", param }),
    );
  });

  it.each([undefined, ...DIALECTS])("of the dialect %s can do what the file says, and no more", (dialect) => {
    const given = capabilitiesOf(dialect);
    expect(given.has("tools")).toBe(true);
    const told = capabilitiesOf(dialect, { images: true, tools: false });
    expect([told.has("images"), told.has("tools")]).toEqual([true, false]);
    expect(given.has("tools")).toBe(true);
  });

  it("can't be declared to do what is no capability", () => {
    expect(capabilitiesSchema.safeParse({ speech: true }).success).toBe(false);
  });

  it("gives log probabilities where its dialect is known to, or the file says so", () => {
    const giving = DIALECTS.filter((dialect) => capabilitiesOf(dialect).has("logprobs"));
    expect(giving).toEqual(["openai", "vllm", "sglang", "llama.cpp", "tgi"]);
    expect(capabilitiesOf("ollama", { logprobs: true }).has("logprobs")).toBe(true);
  });
});

it("what was thought before calls needs nothing but that the model may call: it goes back to the server that said it", () => {
  const calls = [{ call_id: "c", name: "f", arguments: "{}", provider_state: { signature: "x" } }];
  for (const reasoning of ["Hm.", [{ encrypted: "x" }]]) {
    const input = [{ role: "assistant", reasoning, tool_calls: calls }];
    const needs = needsOf(parseGenerationRequest({ model: "m", input }));
    expect(needs.map(({ capability }) => capability)).toEqual(["tool_history"]);
  }
});
