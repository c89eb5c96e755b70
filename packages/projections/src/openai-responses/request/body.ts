import { LIMITS } from "@reprise/protocol";
import * as z from "zod";
import { ignored, only } from "./optional.ts";
import { inputSchema } from "./input-items.ts";
import { toolChoiceSchema, toolsSchema } from "./tools.ts";

/** A field that the native request has under the same name, with the same meaning: its parser checks the value. */
const same = z.unknown().optional();

/** Fields that the native request has under the same name. */
const SAME_FIELDS = {
  frequency_penalty: same,
  logit_bias: same,
  max_output_tokens: same,
  metadata: same,
  min_p: same,
  model: same,
  options: same,
  policy: same,
  presence_penalty: same,
  repetition_penalty: same,
  seed: same,
  temperature: same,
  top_k: same,
};
export const SAME = Object.keys(SAME_FIELDS) as (keyof typeof SAME_FIELDS)[];

/** Parts of an answer that are asked for by name. Those of tools that the platform does not run are in no answer. */
const INCLUDABLE = [
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
  "file_search_call.results",
  "message.input_image.image_url",
  "message.output_text.logprobs",
  "reasoning.encrypted_content",
  "web_search_call.action.sources",
  "web_search_call.results",
] as const;

const textFormat = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({ type: z.literal("json_object") }),
    z.strictObject({
      type: z.literal("json_schema"),
      name: z.string().nullish(),
      description: z.string().nullish(),
      schema: z.unknown(),
      strict: z.boolean().nullish(),
    }),
  ],
  { error: "must be {type: text | json_object | json_schema, …}" },
);

const reasoning = z.strictObject({
  effort: z.string().nullish(),
  summary: ignored,
  generate_summary: ignored,
  context: only(["auto"], "must be auto"),
  mode: only(["standard"], "must be standard"),
});

export const bodySchema = z.strictObject({
  ...SAME_FIELDS,
  access_programs: only([], "is not supported"),
  background: z.boolean().nullish(),
  context_management: only([], "is not supported: a conversation has when_full"),
  conversation: z.union([z.string(), z.strictObject({ id: z.string() })]).nullish(),
  image: only([], "is not supported"),
  include: z.array(z.enum(INCLUDABLE, { error: `must be one of ${INCLUDABLE.join(", ")}` })).nullish(),
  input: inputSchema,
  instructions: z.string().nullish(),
  max_tool_calls: ignored,
  moderation: only([], "is not supported: the tenant's policy moderates"),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  prompt: only([], "is not supported: send instructions and input"),
  prompt_cache_key: ignored,
  prompt_cache_options: z
    .looseObject({ prewarm: only([false], "is not supported: nothing would be generated") })
    .nullish(),
  prompt_cache_retention: ignored,
  reasoning: reasoning.nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z
    .enum(["auto", "default", "flex", "priority", "fast"], {
      error: "must be auto, default, flex, priority or fast",
    })
    .nullish(),
  stop: z
    .union([z.string(), z.array(z.string()).max(LIMITS.stopSequences)], {
      error: `must be a text, or 1 to ${LIMITS.stopSequences} texts`,
    })
    .nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: ignored }).nullish(),
  text: z.strictObject({ format: textFormat.nullish(), verbosity: z.string().nullish() }).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  tools: toolsSchema.nullish(),
  top_logprobs: z.number().nullish(),
  top_p: z.number().nullish(),
  truncation: only(["disabled"], "must be disabled: a conversation has when_full"),
  user: z.string().nullish(),
});

export type ResponsesBody = z.infer<typeof bodySchema>;
