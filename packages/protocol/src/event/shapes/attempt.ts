import * as z from "zod";
import { count, nameLike, seq } from "./field.ts";

/** 24 random bits are enough: a nonce is compared with that of one other attempt, after a store has lost its end. */
const NONCE = /^[0-9a-f]{6}$/;

/**
 * Why a worker gave up its attempt; one that dies appends nothing. `handover`: it was told to stop. `timeout`: the
 * engine was too slow, and the policy allows a further attempt. `engine_failed`: the engine broke off, and the policy does too.
 * `fallback`: the engine failed, and its model names another one.
 */
export const ATTEMPT_ENDS = ["handover", "timeout", "engine_failed", "fallback"] as const;

/** Why an attempt after the first began: the reason that the worker gave, or its loss, or the loss of events that it had written. */
export const TAKEOVER_REASONS = [...ATTEMPT_ENDS, "worker_lost", "log_lost"] as const;

/** A worker begins; `attempt` above 1 is a takeover. */
export const started = z.object({
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
export const attemptEnded = z.object({
  seq,
  type: z.literal("attempt.ended"),
  attempt: z.int().min(1),
  reason: nameLike(ATTEMPT_ENDS),
});
