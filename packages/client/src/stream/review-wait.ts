import type { Generation } from "@reprise/protocol/wire";
import type { RetryDelay, RetryPolicy } from "../retry/retry-policy.ts";

export interface ReviewWait {
  /** Of the last event that was handed out. */
  readonly cursor: string | undefined;
  /** How often in a row it was asked without a further event. */
  readonly asked: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** At least 0, less than 1. */
  readonly random: number;
  readonly policy: Pick<RetryPolicy, "reviewDelayMs">;
}

/** What no review has to decide any more is on its way: it is asked for soon, and later each time that it has not come. */
const LEAST_MS = 1_000;

/**
 * How long a reader of a generation that has ended waits before it asks for what was decided since; undefined when it has everything. The
 * policy decides what people have not when the first review's time is up, so that is waited for no longer than until then. One whose time is
 * up already is decided late, as while moderation is away, or this clock is ahead: it is asked for no more often than the others.
 */
export function planReviewWait(
  { settled, cursor: lastCursor, reviews }: Generation,
  { cursor, asked, nowMs, random, policy }: ReviewWait,
): RetryDelay | undefined {
  if (settled && lastCursor === cursor) return undefined;
  const untilMs = reviews.map(({ expires_at }) => Date.parse(expires_at) - nowMs).filter((ms) => ms > 0);
  const dueMs = untilMs.map((ms) => ms + LEAST_MS);
  const soonMs = reviews.length === 0 ? LEAST_MS * 2 ** asked : Number.POSITIVE_INFINITY;
  const mostMs = Math.min(policy.reviewDelayMs, soonMs, ...dueMs);
  const backoffMs = Math.max(LEAST_MS, mostMs) * (1 + random / 4);
  return { serverMs: 0, backoffMs, wakeMs: random * LEAST_MS };
}
