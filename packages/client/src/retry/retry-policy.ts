import { RepriseError } from "@reprise/protocol/wire";
import { assertAtLeast } from "../invalid-option.ts";

/** Duration and pace of the retries of a call or a stream. */
export interface RetryOptions {
  /** The longest delay after the first failure, in milliseconds; it doubles with every further one. Default 250. */
  baseDelayMs?: number;
  /** Limit of the doubling, in milliseconds. Default 8,000. */
  maxDelayMs?: number;
  /**
   * Maximum duration of failures in a row, without progress between them, before the client gives up, in milliseconds. Default 300,000: five minutes without
   * a network. 0 never tries again, `Infinity` never gives up.
   */
  giveUpAfterMs?: number;
  /** The client gives up on a server that asks for a longer delay than this, in milliseconds. Default 60,000. */
  maxServerDelayMs?: number;
  /** Delay before a stream that awaits reviews asks again for decisions, in milliseconds, plus a random part of a quarter. Default 30,000. */
  reviewDelayMs?: number;
}

export type RetryPolicy = Readonly<Required<RetryOptions>>;

const DEFAULTS: RetryPolicy = {
  baseDelayMs: 250,
  maxDelayMs: 8_000,
  giveUpAfterMs: 300_000,
  maxServerDelayMs: 60_000,
  reviewDelayMs: 30_000,
};

/** @throws RepriseError `invalid_request` that names the option */
export function createRetryPolicy(options: RetryOptions = {}): RetryPolicy {
  const policy = { ...DEFAULTS, ...options };
  for (const [name, value] of Object.entries(policy)) assertAtLeast(0, value, `retry.${name}`);
  return policy;
}

/** Failures in a row: how many, and when the first of them was, in milliseconds since 1970. */
export interface FailureRun {
  readonly count: number;
  readonly sinceMs: number;
}

export interface FailureContext {
  readonly policy: RetryPolicy;
  readonly nowMs: number;
  /** The least delay that the server asked for on an earlier connection, in milliseconds. */
  readonly floorMs: number;
  /** At least 0, less than 1. */
  readonly random: number;
}

export interface RetryDelay {
  /** Delay that the server asked for, in milliseconds. It is never shortened. */
  readonly serverMs: number;
  /** Additional delay, in milliseconds. A wake-up ends it. */
  readonly backoffMs: number;
  /** The most that is waited on top of it after a wake-up, in milliseconds. */
  readonly wakeMs: number;
}

export type RetryPlan =
  | { readonly type: "reconnect"; readonly delay: RetryDelay; readonly failures: FailureRun }
  | { readonly type: "fail"; readonly error: RepriseError };

/**
 * Decides how to handle a failure. The delay is the server's requested delay plus a random share of the backoff ("full jitter"). The share is added rather
 * than used instead: otherwise all readers of a lost node would reconnect at the same moment.
 */
export function planRetry(
  error: RepriseError,
  earlier: FailureRun | undefined,
  { policy, nowMs, floorMs, random }: FailureContext,
): RetryPlan {
  if (!error.retryable) return { type: "fail", error };
  const failures = { count: (earlier?.count ?? 0) + 1, sinceMs: earlier?.sinceMs ?? nowMs };
  const serverMs = error.retryAfterMs ?? floorMs;
  if (nowMs - failures.sinceMs >= policy.giveUpAfterMs || serverMs > policy.maxServerDelayMs) {
    return { type: "fail", error: toConnectionLost(error, failures, nowMs) };
  }
  const capMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (failures.count - 1));
  const delay = { serverMs, backoffMs: random * capMs, wakeMs: random * policy.baseDelayMs };
  return { type: "reconnect", delay, failures };
}

function toConnectionLost(cause: RepriseError, { count, sinceMs }: FailureRun, nowMs: number): RepriseError {
  const seconds = Math.round((nowMs - sinceMs) / 1_000);
  const message = `Gave up after ${count} failure(s) in ${seconds} s; the last one: ${cause.message}`;
  return new RepriseError("connection_lost", message, { cause, retryAfterMs: cause.retryAfterMs });
}
