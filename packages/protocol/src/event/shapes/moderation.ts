import * as z from "zod";
import { UNAVAILABLE_ANSWERS } from "../../request/moderation-policy.ts";
import { count, nameLike, seq } from "./field.ts";

/** Decisions of a reviewer: show the text, replace it, or stop the generation. */
export const REVIEW_DECISIONS = ["approve", "edit", "halt"] as const;

/** Which text a range is of; `channelOf` names them. Default `"0"`, the first output. */
const channel = z.string().optional();

/**
 * Moderation has withdrawn text: what the events `from_seq` to `to_seq` of the channel said, joined, reads `replacement` from now on.
 * A range never overlaps an earlier one in part: it takes it in.
 */
export const redacted = z.object({
  seq,
  type: z.literal("moderation.redacted"),
  from_seq: seq,
  to_seq: seq,
  replacement: z.string(),
  /** The rule that has matched; the leftmost, when there are several. */
  rule: z.string(),
  category: z.string(),
  channel,
  /** The review that has led to it. */
  review_id: z.string().optional(),
});

/** Moderation has stopped the generation: from `from_seq` on no text counts, and `replacement` takes its place. An end follows. */
export const halted = z.object({
  seq,
  type: z.literal("moderation.halted"),
  from_seq: seq,
  replacement: z.string(),
  rule: z.string(),
  category: z.string(),
  review_id: z.string().optional(),
});

/** A person is to decide about a range of text. */
export const review = z.object({
  seq,
  type: z.literal("moderation.review"),
  review_id: z.string(),
  from_seq: seq,
  to_seq: seq,
  /** Where the match lies in the texts of these events, joined, in UTF-16 code units. Default: all of them are in question. */
  from_offset: count.optional(),
  /** The first that is no part of it. */
  to_offset: count.optional(),
  rule: z.string(),
  category: z.string(),
  channel,
  /** When the policy decides in a person's place. RFC 3339, UTC. */
  expires_at: z.string(),
});

/** The decision of a review, by a person or, `reviewer: "timeout"`, by the policy. Its effect follows as a separate event. */
export const reviewed = z.object({
  seq,
  type: z.literal("moderation.reviewed"),
  review_id: z.string(),
  decision: nameLike(REVIEW_DECISIONS),
  reviewer: z.string(),
  /** For `edit`: text that replaces the range. */
  replacement: z.string().optional(),
});

/** The events after `judged_seq` were not judged within the policy's wait. Until they are, readers are shown them or not, as the policy says. */
export const unavailable = z.object({
  seq,
  type: z.literal("moderation.unavailable"),
  answer: nameLike(UNAVAILABLE_ANSWERS),
  judged_seq: seq,
});
