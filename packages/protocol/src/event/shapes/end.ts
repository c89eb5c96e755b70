import * as z from "zod";
import { count, nameLike, seq } from "./field.ts";

/** `input_tokens` is null while it is unknown: an engine that reports it only at its end may have been stopped before. */
export const usageSchema = z.object({
  input_tokens: count.nullable(),
  /** Number of input tokens that are an estimate, because no engine has counted them. Absent: none. */
  estimated_input_tokens: count.optional(),
  output_tokens: count,
  /** Input tokens that the engine took from its cache. Absent: unknown. */
  cached_input_tokens: count.optional(),
  /** Output tokens that were reasoning, shown or not. Absent: unknown. */
  reasoning_tokens: count.optional(),
  /** Audio tokens of the input, and of the output. Absent: none, or unknown. */
  audio_input_tokens: count.optional(),
  audio_output_tokens: count.optional(),
});

export const failureSchema = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() });

/**
 * `timeout`: a timeout of the policy has ended the generation in order, with what there was. `schema_mismatch`: the model has finished, and its
 * answer does not have the form of the request. `interrupted`: its reader has heard enough.
 */
export const FINISH_REASONS = [
  "stop",
  "length",
  "content_filter",
  "tool_calls",
  "timeout",
  "schema_mismatch",
  "interrupted",
  "other",
] as const;

export const completed = z.object({
  seq,
  type: z.literal("generation.completed"),
  finish_reason: nameLike(FINISH_REASONS),
  /** The engine gave no reason of its own, but said that its answer is whole. */
  finish_reason_missing: z.literal(true).optional(),
  usage: usageSchema,
});

export const failed = z.object({
  seq,
  type: z.literal("generation.failed"),
  error: failureSchema,
  usage: usageSchema,
});

export const cancelled = z.object({
  seq,
  type: z.literal("generation.cancelled"),
  reason: z.string(),
  usage: usageSchema,
});
