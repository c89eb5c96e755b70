import type { EngineRequest } from "../engine.ts";
import * as z from "zod";
import { parseOptions } from "../parse-options.ts";

/** What `options` may not set, and why. Everything else goes to the upstream as it is, which is the judge of it. */
const RESERVED: Record<string, readonly string[]> = {
  "is set by the request's own field": [
    "model",
    "messages",
    "prompt",
    "input",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "stop",
    "seed",
    "tools",
  ],
  "is set by the platform": [
    "stream",
    "stream_options",
    "continue_final_message",
    "add_generation_prompt",
    "echo",
  ],
  "asks for what this version can't deliver": [
    "n",
    "best_of",
    "functions",
    "function_call",
    "modalities",
    "audio",
  ],
  "reaches beyond this request": [
    "priority",
    "request_id",
    "session_id",
    "cache_salt",
    "kv_transfer_params",
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "rid",
    "lora_path",
    "id_slot",
    "store",
  ],
};

const REASONS = new Map(
  Object.entries(RESERVED).flatMap(([reason, keys]) => keys.map((key) => [key, reason] as const)),
);

/** The upstream's grammar begins anew with a continued run and would contradict what the prefix has begun. */
const STRUCTURED = [
  "response_format",
  "structured_outputs",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "json_schema",
  "grammar",
  "regex",
  "ebnf",
  "structural_tag",
];

const openaiOptionsSchema = z.record(z.string(), z.json()).superRefine((options, context) => {
  for (const key of Object.keys(options)) {
    const reason = REASONS.get(key);
    if (reason !== undefined) context.addIssue({ code: "custom", path: [key], message: reason });
  }
});

export type OpenaiOptions = z.infer<typeof openaiOptionsSchema>;

/** @throws RepriseError `invalid_request` */
export function parseOpenaiOptions(options: EngineRequest["options"]): OpenaiOptions {
  return parseOptions(openaiOptionsSchema, options);
}

export function isStructured(options: OpenaiOptions): boolean {
  return STRUCTURED.some((key) => Object.hasOwn(options, key));
}

/** Whether the model has to call a tool: any, which is `required` or Mistral's `any`, or one of those that are named. */
export function isForcingCall({ tool_choice: choice }: OpenaiOptions): boolean {
  if (!isObject(choice)) return choice === "required" || choice === "any";
  const { allowed_tools: allowed } = choice;
  return !isObject(allowed) || allowed["mode"] !== "auto";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
