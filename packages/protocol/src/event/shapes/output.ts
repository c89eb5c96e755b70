import * as z from "zod";
import { count, seq } from "./field.ts";

export const outputDelta = z.object({
  seq,
  type: z.literal("output.delta"),
  text: z.string(),
  /** Which output, when there are several. Default 0. */
  output: count.optional(),
  /** How many of the engine's tokens are merged in `text`. Default 1. */
  tokens: count.optional(),
  /** Of the generation, said with the first delta of a run by an engine that counts as it goes: `tokens` are its own count then. */
  input_tokens: count.optional(),
  /** How many of those the engine took from its cache, said with the first delta of a run by an engine that tells so early. */
  cached_input_tokens: count.optional(),
});

/** What a model says to itself before it answers. Not part of the text. */
export const reasoningDelta = z.object({
  seq,
  type: z.literal("reasoning.delta"),
  text: z.string(),
  tokens: count.optional(),
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
});

/** What came after `to_seq` from an earlier attempt no longer counts. */
export const outputRewind = z.object({
  seq,
  type: z.literal("output.rewind"),
  to_seq: seq,
  reason: z.string(),
});
