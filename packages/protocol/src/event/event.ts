import type { Seq } from "../seq.ts";
import * as z from "zod";
import { jsonValueSchema } from "../json-object.ts";
import { NONCE } from "./cursor.ts";
import { UNAVAILABLE_ANSWERS } from "../request/moderation-policy.ts";
import { effectivePolicySchema } from "../request/policy.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { generationRequestSchema } from "../request/request.ts";

/*
 * The events of a generation's log. New types and fields are added; old ones never change their meaning. `seq` is dense
 * and starts at 0. A field that may be absent has its default said beside it.
 */

const seq = z.int().min(0).brand<"Seq">();
const count = z.int().min(0);

/** As names are written. Anything else in the place of a name is text, which readers would be shown without a judgement. */
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** One of these names, or one that a later version adds: a log of a newer node stays readable on this one. */
function nameLike<const Name extends string>(_known: readonly Name[]) {
  return z.custom<Name>((value) => typeof value === "string" && NAME.test(value));
}

/** `input_tokens` is null while it is unknown: an engine that reports it only at its end may have been stopped before. */
export const usageSchema = z.object({
  input_tokens: count.nullable(),
  output_tokens: count,
  /** How many of the input the engine took from its cache. Absent: unknown. */
  cached_input_tokens: count.optional(),
  /** How many of the output were reasoning, shown or not. Absent: unknown. */
  reasoning_tokens: count.optional(),
});

export const failureSchema = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() });

/** `timeout`: a timeout of the policy has ended the generation in order, with what there was. */
export const FINISH_REASONS = ["stop", "length", "content_filter", "tool_calls", "timeout", "other"] as const;

/**
 * Why a worker gave up its attempt; one that dies appends nothing. `handover`: it was told to stop. `timeout`: the
 * engine was too slow, and the policy allows a further attempt. `engine_failed`: the engine broke off, and the policy does too.
 * `fallback`: the engine failed, and its model names another one.
 */
export const ATTEMPT_ENDS = ["handover", "timeout", "engine_failed", "fallback"] as const;

/** Why an attempt after the first began: the reason that the worker gave, or its loss, or the loss of events that it had written. */
export const TAKEOVER_REASONS = [...ATTEMPT_ENDS, "worker_lost", "log_lost"] as const;

/** What a reviewer may decide: show the text, show another one, or stop the generation. */
export const REVIEW_DECISIONS = ["approve", "edit", "halt"] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** A budget that a generation is counted against, in the period in which it was created. */
const budgetChargeSchema = z.object({
  name: z.string(),
  /** Tokens, those of the input and those that engines have produced; for a budget in money, 10^-9 of the currency's unit. */
  limit: count,
  /** Names the period: `2026-11`, `total`. */
  period: z.string(),
  /** When it ends. RFC 3339, UTC. Absent: never. */
  ends_at: z.string().optional(),
  /** `admit`: generations go on while the ledger of all processes does not answer. Absent: they wait, or are refused. */
  on_redis_loss: z.string().optional(),
  /** For a budget in money: what a million tokens cost, of the models that may serve the generation, as decimal texts. */
  money: z
    .object({
      currency: z.string(),
      prices: z.record(
        z.string(),
        z.object({ input: z.string(), cached_input: z.string().optional(), output: z.string() }),
      ),
    })
    .optional(),
});
export type BudgetCharge = z.infer<typeof budgetChargeSchema>;

/** seq 0: the request itself. It never leaves the platform except to auditors and workers. */
const requested = z.object({
  seq: z.literal(0).brand<"Seq">(),
  type: z.literal("generation.requested"),
  tenant: z.string(),
  generation: z.string(),
  /** RFC 3339, UTC. */
  created_at: z.string(),
  request: generationRequestSchema,
  /** What it needs of its worker and its engine, by names of `CAPABILITIES` or of a later version. Absent: what every version can do. */
  needs: z.array(z.string()).optional(),
  /** The tenant's and the request's policy, made one. */
  policy: effectivePolicySchema,
  idempotency_key: z.string().optional(),
  traceparent: z.string().optional(),
  budgets: z.array(budgetChargeSchema).optional(),
});

/** A worker begins; `attempt` above 1 is a takeover. */
const started = z.object({
  seq,
  type: z.literal("generation.started"),
  attempt: z.int().min(1),
  worker: z.string(),
  /** The model whose engine serves the attempt: the one asked for, or its fallback. */
  model: z.string(),
  /** The engine's adapter, as the worker names it: `openai`, `sim`. Absent from older workers. */
  engine: z.string().optional(),
  /** Tells the attempt from another one with its number: a store that has lost its end may get one. In the attempt's cursors. */
  nonce: z.string().regex(NONCE).optional(),
  /** Where the engine knows it beforehand. */
  input_tokens: count.optional(),
  /** For an attempt after the first. Default `worker_lost`. */
  reason: nameLike(TAKEOVER_REASONS).optional(),
});

/** A worker records that its attempt is over and another one will follow. */
const attemptEnded = z.object({
  seq,
  type: z.literal("attempt.ended"),
  attempt: z.int().min(1),
  reason: nameLike(ATTEMPT_ENDS),
});

const outputDelta = z.object({
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
const reasoningDelta = z.object({
  seq,
  type: z.literal("reasoning.delta"),
  text: z.string(),
  tokens: count.optional(),
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
});

/** What came after `to_seq` from an earlier attempt no longer counts. */
const outputRewind = z.object({ seq, type: z.literal("output.rewind"), to_seq: seq, reason: z.string() });

/**
 * The model asks for a tool; the generation waits for the answer to every call. `arguments` is the text that the model made. The first call
 * of a turn has what the engine has counted of the turn and no delta of it says.
 */
const toolCall = z.object({
  seq,
  type: z.literal("tool.call"),
  call_id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
  /** Produced beyond the tokens of the turn's deltas: the calls themselves, and reasoning that the engine does not show. Default 0. */
  tokens: count.optional(),
  /** How many of `tokens` were reasoning. Absent: unknown. */
  reasoning_tokens: count.optional(),
  /** Of the generation, where it was not known before. */
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
});

/** A tool's answer, once for each call. */
const toolResult = z.object({
  seq,
  type: z.literal("tool.result"),
  call_id: z.string().min(1),
  output: jsonValueSchema(LIMITS.toolOutputDepth),
});

const completed = z.object({
  seq,
  type: z.literal("generation.completed"),
  finish_reason: nameLike(FINISH_REASONS),
  usage: usageSchema,
});

const failed = z.object({
  seq,
  type: z.literal("generation.failed"),
  error: failureSchema,
  usage: usageSchema,
});

const cancelled = z.object({
  seq,
  type: z.literal("generation.cancelled"),
  reason: z.string(),
  usage: usageSchema,
});

/** Which text a range is of; `channelOf` names them. Default `"0"`, the first output. */
const channel = z.string().optional();

/**
 * Moderation has withdrawn text: what the events `from_seq` to `to_seq` of the channel said, joined, reads `replacement` from now on.
 * A range never overlaps an earlier one in part: it takes it in.
 */
const redacted = z.object({
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

/** Moderation has stopped the generation: from `from_seq` on no text counts, and `replacement` stands in its place. An end follows. */
const halted = z.object({
  seq,
  type: z.literal("moderation.halted"),
  from_seq: seq,
  replacement: z.string(),
  rule: z.string(),
  category: z.string(),
  review_id: z.string().optional(),
});

/** A person is to decide about a range of text. */
const review = z.object({
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

/** What was decided, by a person or, `reviewer: "timeout"`, by the policy. What it leads to follows as an event of its own. */
const reviewed = z.object({
  seq,
  type: z.literal("moderation.reviewed"),
  review_id: z.string(),
  decision: nameLike(REVIEW_DECISIONS),
  reviewer: z.string(),
  /** For `edit`: what stands in place of the range. */
  replacement: z.string().optional(),
});

/** What came after `judged_seq` was not judged for as long as the policy waits. Until it is, readers are shown it, or not. */
const unavailable = z.object({
  seq,
  type: z.literal("moderation.unavailable"),
  answer: nameLike(UNAVAILABLE_ANSWERS),
  judged_seq: seq,
});

export const eventSchema = z.discriminatedUnion("type", [
  requested,
  started,
  attemptEnded,
  outputDelta,
  reasoningDelta,
  outputRewind,
  toolCall,
  toolResult,
  redacted,
  halted,
  review,
  reviewed,
  unavailable,
  completed,
  failed,
  cancelled,
]);

export type Usage = z.infer<typeof usageSchema>;
export type Failure = z.infer<typeof failureSchema>;
export type FinishReason = (typeof FINISH_REASONS)[number];
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];
export type TakeoverReason = (typeof TAKEOVER_REASONS)[number];
export type RequestedEvent = z.infer<typeof requested>;
export type KnownEvent = z.infer<typeof eventSchema>;
export type EventType = KnownEvent["type"];
export type TerminalType = "generation.completed" | "generation.failed" | "generation.cancelled";

/** An event without its place: the appender gives it `seq` when it publishes it. */
export type EventDraft = KnownEvent extends infer E ? (E extends KnownEvent ? Omit<E, "seq"> : never) : never;

/** Of an event behind the request. */
export type GenerationEventDraft = Exclude<EventDraft, { type: "generation.requested" }>;

declare const unknown: unique symbol;

/**
 * Any type of a later version. TypeScript has no type for "every string but these", so a literal that no code can write stands for it:
 * comparing the `type` of an event then narrows to the known event of that type.
 */
export type UnknownType = "a type of a later version" & { readonly [unknown]: true };

/** What a reader may meet: an event of a later version has a type that this one does not know, and is passed on as it is. */
export interface UnknownEvent {
  readonly seq: Seq;
  readonly type: UnknownType;
  readonly [field: string]: unknown;
}

/** As clients have it: its numbers are plain ones, so that a program can make an event in its tests. */
export type GenerationEvent = Exclude<z.input<typeof eventSchema>, { type: "generation.requested" }>;
