import * as z from "zod";
import { count, nameLike, seq } from "./field.ts";
import { tokenLogprobsSchema } from "./token-logprobs.ts";

export const outputDelta = z.object({
  seq,
  type: z.literal("output.delta"),
  text: z.string(),
  /** Which output, when there are several. Default 0. */
  output: count.optional(),
  /** Number of the engine's tokens that are merged in `text`. Default 1. */
  tokens: count.optional(),
  /** Input tokens of the generation, sent with the first delta of a run by an engine that counts while it generates: `tokens` are then its own count. */
  input_tokens: count.optional(),
  /** Input tokens that the engine took from its cache, sent with the first delta of a run by an engine that reports them that early. */
  cached_input_tokens: count.optional(),
  /** Log probabilities of the text's tokens, in order, if the request asks for them and the engine gives them. */
  logprobs: tokenLogprobsSchema.optional(),
  /** Bytes of the input up to `consumed`. */
  consumed_bytes: count.optional(),
  /** The last entry of the input log that the text takes account of: another worker continues with the next one. Absent: as before. */
  consumed: seq.optional(),
  /** Which item the text belongs to, an utterance or a turn: numbers that grow, from 1. Only the last one can be revised. Absent: none. */
  item: z.int().min(1).optional(),
  /** The text of the item up to here does not change any more. */
  final: z.literal(true).optional(),
});

/** Reasoning of a model before it answers. Not part of the text. */
export const reasoningDelta = z.object({
  seq,
  type: z.literal("reasoning.delta"),
  text: z.string(),
  tokens: count.optional(),
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
});

/** A model's refusal, in place of an answer. Not part of the text. */
export const refusalDelta = z.object({
  seq,
  type: z.literal("refusal.delta"),
  text: z.string(),
  tokens: count.optional(),
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
});

/** An engine's summary of reasoning that it does not show. */
export const summaryDelta = z.object({
  seq,
  type: z.literal("reasoning.summary.delta"),
  text: z.string(),
  /** Which part of the summary, when there are several. Default 0. */
  part: count.optional(),
  /** Reasoning tokens counted with this delta. Default 0. */
  tokens: count.optional(),
});

/** Reasoning in a form that its engine alone can read, to be handed back with a further request. */
export const reasoningSealed = z.object({
  seq,
  type: z.literal("reasoning.sealed"),
  encrypted: z.string(),
  /** The engine's id of it. */
  id: z.string().optional(),
});

/** `url`: a page of the web. `file`: a file that the engine was given. */
export const ANNOTATION_KINDS = ["url", "file"] as const;

/**
 * Where something in the text comes from. The range lies in the texts of the `output.delta`s of output 0 from `from_seq` to `to_seq`, joined: up to
 * and without `to_offset`, in UTF-16 code units. Without a range it is of the text as a whole.
 */
export const outputAnnotation = z.object({
  seq,
  type: z.literal("output.annotation"),
  kind: nameLike(ANNOTATION_KINDS),
  from_seq: seq.optional(),
  to_seq: seq.optional(),
  from_offset: count.optional(),
  to_offset: count.optional(),
  url: z.string().optional(),
  title: z.string().optional(),
  /** The engine's id of the file. */
  file: z.string().optional(),
  /** Name of the file. */
  name: z.string().optional(),
  /** Text quoted from the source. */
  quote: z.string().optional(),
});

/** Kinds of blobs that a model may make. */
export const BLOB_KINDS = ["image", "audio"] as const;

/** Content that the model has made. It is stored before this is appended; readers fetch it by the generation's id and this one. */
export const outputBlob = z.object({
  seq,
  type: z.literal("output.blob"),
  kind: nameLike(BLOB_KINDS),
  /** Absent if moderation has withdrawn it, like the next two fields. */
  blob: z.string().optional(),
  media_type: z.string().optional(),
  bytes: count.optional(),
});

/** A reader's interrupt, after which what it has heard counts, and an engine's new text of the last item. */
export const INTERRUPTED = "interrupted";
export const REVISED = "revised";

/** Output after `to_seq` no longer counts: an earlier attempt's, or by one of the reasons above. */
export const outputRewind = z.object({
  seq,
  type: z.literal("output.rewind"),
  to_seq: seq,
  reason: z.string(),
  /** With an interrupt of streamed input: the last entry that is not to be answered any more. */
  consumed: seq.optional(),
});
