/**
 * A share of a limit that a call asks for. Names are told to clients and are keys of metrics; `key` says whose share it is, and
 * holds no secret.
 */
export type LimitCheck = RateCheck | LeaseCheck;

/** A number of units in a window. Unused units come back steadily (GCRA): after a pause `limit` units are there at once. */
export interface RateCheck {
  readonly kind: "rate";
  readonly name: string;
  readonly key: string;
  /** Units per window, at least 1. */
  readonly limit: number;
  readonly windowMs: number;
  /** Units that the call takes. More than `limit` is never granted. */
  readonly cost: number;
}

/** A number at a time. */
export interface LeaseCheck {
  readonly kind: "lease";
  readonly name: string;
  readonly key: string;
  /** Leases that may be held at a time, at least 1. */
  readonly limit: number;
  /** Holder of the lease; taking a lease that is held renews it. */
  readonly member: string;
  /** After how long without a renewal the lease ends by itself. */
  readonly ttlMs: number;
}

/** State of a limit after a decision. */
export interface Standing {
  readonly check: LimitCheck;
  /** Units, or leases, that are left. */
  readonly remaining: number;
  /** After how long the whole limit is there again, if nothing more is taken; 0 for leases. */
  readonly resetMs: number;
}

export interface Decision {
  /** One for each check, in their order. */
  readonly standings: readonly Standing[];
  /** The first check that was refused; undefined when all were granted. */
  readonly refused?: {
    readonly check: LimitCheck;
    /** When to come again; undefined where no wait helps, since the cost is above the limit. */
    readonly retryAfterMs?: number;
  };
}

/**
 * Counts what was taken of limits. All checks of one call are granted together or not at all: one that is refused takes nothing.
 * Implemented in this process and in Redis, with the same answers.
 */
export interface Counters {
  take(checks: readonly LimitCheck[]): Promise<Decision>;
  /** Corrects what an earlier rate check took, by units more (positive) or fewer (negative). Never refused. */
  settle(check: Omit<RateCheck, "cost">, units: number): Promise<void>;
  /** Ends leases. Those that have ended already do not matter. */
  release(leases: readonly Pick<LeaseCheck, "key" | "member">[]): Promise<void>;
}

/** Milliseconds that a client waits after it was refused a lease: it is unknown when one ends. */
export const LEASE_RETRY_MS = 1_000;
