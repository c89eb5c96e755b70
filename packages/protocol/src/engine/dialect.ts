import * as z from "zod";
import { CAPABILITIES, type Capability } from "./capability.ts";

/** Servers whose API is OpenAI's chat completions, by where they differ. */
export const DIALECTS = [
  "openai",
  "vllm",
  "sglang",
  "llama.cpp",
  "tgi",
  "ollama",
  "lm-studio",
  "mistral",
] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Capabilities that the platform provides itself, for any engine. */
const OWN: readonly Capability[] = ["end_on_tool_calls", "media_references", "history", "tool_content"];

const COMMON: readonly Capability[] = [
  ...OWN,
  "tools",
  "content_parts",
  "tool_history",
  "top_p",
  "frequency_penalty",
  "presence_penalty",
];

/**
 * Capabilities of a server, for any model. The models file declares those that depend on the model: images, audio and files as input and output, sealed
 * reasoning and summaries of it. A capability whose field a server ignores is not listed.
 */
const BY_DIALECT: Readonly<Record<Dialect, readonly Capability[]>> = {
  openai: [
    ...COMMON,
    "strict_tools",
    "tool_choice",
    "named_tool_choice",
    "parallel_tool_calls",
    "json_object",
    "json_schema",
    "logit_bias",
    "logprobs",
    "reasoning_effort",
    "verbosity",
  ],
  vllm: [
    ...COMMON,
    "tool_choice",
    "named_tool_choice",
    "parallel_tool_calls",
    "reasoning_history",
    "json_object",
    "json_schema",
    "top_k",
    "min_p",
    "repetition_penalty",
    "logit_bias",
    "logprobs",
    "reasoning_effort",
    "reasoning_max_tokens",
  ],
  sglang: [
    ...COMMON,
    "tool_choice",
    "named_tool_choice",
    "parallel_tool_calls",
    "reasoning_history",
    "json_object",
    "json_schema",
    "top_k",
    "min_p",
    "repetition_penalty",
    "logit_bias",
    "logprobs",
    "reasoning_effort",
  ],
  "llama.cpp": [
    ...COMMON,
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_history",
    "json_object",
    "json_schema",
    "top_k",
    "min_p",
    "repetition_penalty",
    "logit_bias",
    "logprobs",
    "reasoning_effort",
    "reasoning_max_tokens",
  ],
  tgi: [...COMMON, "tool_choice", "named_tool_choice", "json_schema", "logprobs"],
  ollama: [...COMMON, "reasoning_history", "json_object", "json_schema", "reasoning_effort"],
  "lm-studio": [...COMMON, "tool_choice", "json_schema", "top_k", "repetition_penalty", "logit_bias"],
  mistral: [
    ...COMMON,
    "tool_choice",
    "named_tool_choice",
    "parallel_tool_calls",
    "reasoning_history",
    "json_object",
    "json_schema",
  ],
};

/** A program reads text or sound, and writes text. */
export const COMMAND_CAPABILITIES: ReadonlySet<Capability> = new Set(["content_parts", "input_stream"]);

/** vLLM's `/v1/realtime` transcribes streamed sound. */
const REALTIME_CAPABILITIES: ReadonlySet<Capability> = new Set(["input_stream"]);

const SETS = new Map(DIALECTS.map((dialect) => [dialect, new Set(BY_DIALECT[dialect])]));

export function dialectCapabilities(dialect: Dialect): ReadonlySet<Capability> {
  // Every dialect is in the table.
  return SETS.get(dialect)!;
}

/** It takes any request and pays no heed to it, so that a program can be tried with it. */
export const SIM_CAPABILITIES: ReadonlySet<Capability> = new Set(CAPABILITIES);

/** Capabilities of a model in a models file, in addition to its engine's: true or false, by name. */
export const capabilitiesSchema = z.partialRecord(z.enum(CAPABILITIES), z.boolean());

type DeclaredCapabilities = z.infer<typeof capabilitiesSchema>;

/** Context size of a model in tokens, including its answer. It determines the room for earlier turns of a conversation. */
export const contextTokensSchema = z.int().min(256).max(100_000_000);

function baseOf(kind: Parameters<typeof capabilitiesOf>[0]): ReadonlySet<Capability> {
  if (kind === undefined) return SIM_CAPABILITIES;
  if (kind === "realtime") return REALTIME_CAPABILITIES;
  return kind === "command" ? COMMAND_CAPABILITIES : dialectCapabilities(kind);
}

/** @param kind dialect of an OpenAI-compatible server, `command` for a program, `realtime` for a server of streamed sound; undefined for the simulator */
export function capabilitiesOf(
  kind: Dialect | "command" | "realtime" | undefined,
  declared: DeclaredCapabilities = {},
): ReadonlySet<Capability> {
  const all = new Set(baseOf(kind));
  for (const [name, can] of Object.entries(declared)) {
    if (can) all.add(name as Capability);
    else all.delete(name as Capability);
  }
  return all;
}
