import type { Generation } from "@reprise/protocol/wire";
import type { RetryDelay, RetryPolicy } from "../retry/retry-policy.ts";

export interface ReviewWait {
  /** Cursor of the last event that was handed out. */
  readonly cursor: string | undefined;
  /** Number of requests in a row without a further event. */
  readonly asked: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** At least 0, less than 1. */
  readonly random: number;
  readonly policy: Pick<RetryPolicy, "reviewDelayMs">;
}

/**
 * Minimum delay. If no review is open, the missing events are on their way: the first delay is this one, and each further request without them doubles it.
 */
const LEAST_MS = 1_000;

/**
 * Plans how long a reader of a generation that has ended waits before it asks for later decisions; undefined when it has all events. When the first
 * review's time is up, the policy decides if people have not, so the reader waits no longer than until then. A review whose time is up already is decided
 * late, for example while moderation is away, or this clock is ahead: it is not asked for more often than the others.
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
