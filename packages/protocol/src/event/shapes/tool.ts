import * as z from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../json-object.ts";
import { userPartSchema } from "../../request/fields/content-part.ts";
import { LIMITS } from "../../request/fields/limits.ts";
import { count, seq } from "./field.ts";

/**
 * The model asks for a tool; the generation waits for the answer to every call. `arguments` is the text that the model made. The first call
 * of a turn has what the engine has counted of the turn and no delta of it says.
 */
export const toolCall = z.object({
  seq,
  type: z.literal("tool.call"),
  call_id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
  /** Produced beyond the tokens of the turn's deltas: the calls themselves, and reasoning that the engine does not show. Default 0. */
  tokens: count.optional(),
  /** Number of `tokens` that were reasoning. Absent: unknown. */
  reasoning_tokens: count.optional(),
  /** Input tokens of the generation, if they were not known before. */
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
  /** Audio tokens of the input, if they were not known before, and those among `tokens` and the turn's deltas. Absent: none, or unknown. */
  audio_input_tokens: count.optional(),
  audio_output_tokens: count.optional(),
  /** On the first call of a turn: the engine gave no finish reason, but said that its answer is whole. */
  finish_reason_missing: z.literal(true).optional(),
  /** State that only the model server can read, and asks to get back with the call. */
  provider_state: jsonObjectSchema(LIMITS.providerStateDepth).optional(),
});

/** A tool's answer, once for each call: a JSON value, or parts. */
export const toolResult = z.object({
  seq,
  type: z.literal("tool.result"),
  call_id: z.string().min(1),
  output: jsonValueSchema(LIMITS.toolOutputDepth).optional(),
  content: z.array(userPartSchema).optional(),
});
