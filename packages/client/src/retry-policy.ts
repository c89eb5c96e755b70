import { RepriseError } from "@reprise/protocol/wire";

/** How often and how fast a call or a stream tries again. */
export interface RetryOptions {
  /** The longest delay after the first failure, in milliseconds; it doubles with every further one. Default 250. */
  baseDelayMs?: number;
  /** What it doubles up to, in milliseconds. Default 8,000. */
  maxDelayMs?: number;
  /** The failures in a row, without progress between them, at which to give up. Default 8; 1 never tries again. */
  maxFailures?: number;
  /** A server that asks for a longer delay than this, in milliseconds, is given up on. Default 60,000. */
  maxServerDelayMs?: number;
}

export type RetryPolicy = Readonly<Required<RetryOptions>>;

const DEFAULTS: RetryPolicy = {
  baseDelayMs: 250,
  maxDelayMs: 8_000,
  maxFailures: 8,
  maxServerDelayMs: 60_000,
};

/** @throws RepriseError `invalid_request` that names the option */
export function createRetryPolicy(options: RetryOptions = {}): RetryPolicy {
  const policy = { ...DEFAULTS, ...options };
  for (const [name, value] of Object.entries(policy)) {
    const least = name === "maxFailures" ? 1 : 0;
    // Also false for what is not a number.
    if (value >= least) continue;
    const message = `retry.${name} must be a number from ${least}, got ${value}.`;
    throw new RepriseError("invalid_request", message, { param: `retry.${name}` });
  }
  return policy;
}

export interface FailureContext {
  policy: RetryPolicy;
  /** The failures in a row, this one counted. */
  failures: number;
  /** The least delay that the server asked for on an earlier connection, in milliseconds. */
  floorMs: number;
  /** At least 0, less than 1. */
  random: number;
}

export type RetryPlan =
  | { readonly type: "retry"; readonly delayMs: number }
  | { readonly type: "give_up"; readonly error: RepriseError };

/**
 * What to do about a failure. The delay is what the server asked for plus a random share of the backoff ("full jitter"): on
 * top of it rather than instead of it, or all readers of a lost node would come back in the same moment.
 */
export function planRetry(
  error: RepriseError,
  { policy, failures, floorMs, random }: FailureContext,
): RetryPlan {
  if (!error.retryable) return { type: "give_up", error };
  const serverDelayMs = error.retryAfterMs ?? floorMs;
  if (failures >= policy.maxFailures || serverDelayMs > policy.maxServerDelayMs) {
    return { type: "give_up", error: toConnectionLost(error, failures) };
  }
  const backoffMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (failures - 1));
  return { type: "retry", delayMs: serverDelayMs + random * backoffMs };
}

function toConnectionLost(cause: RepriseError, failures: number): RepriseError {
  const message = `Gave up after ${failures} failure(s) in a row; the last one: ${cause.message}`;
  return new RepriseError("connection_lost", message, { cause, retryAfterMs: cause.retryAfterMs });
}
