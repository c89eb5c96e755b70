import {
  type Counters,
  type Decision,
  LEASE_RETRY_MS,
  type LeaseCheck,
  type LimitCheck,
  type RateCheck,
  type Standing,
} from "./counters.ts";
import { type RateState, settleUnits, standingAt, takeUnits, waitForUnits } from "./gcra.ts";

/** Number of keys from which on those without effect are removed. */
const SWEEP_KEYS = 1_000;

/** Counters of this process alone. Their memory is bounded by what was taken and has not come back. */
export class MemoryCounters implements Counters {
  readonly #now: () => number;
  readonly #rates = new Map<string, RateState>();
  readonly #leases = new Map<string, Map<string, number>>();
  #sweepAtKeys = SWEEP_KEYS;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Keys that are kept. */
  get size(): number {
    return this.#rates.size + this.#leases.size;
  }

  async take(checks: readonly LimitCheck[]): Promise<Decision> {
    const nowMs = this.#now();
    for (const check of checks) if (check.kind === "rate") this.#bound(check, nowMs);
    const refused = checks.find((check) => !this.#isGranted(check, nowMs));
    if (!refused) for (const check of checks) this.#grant(check, nowMs);
    const standings = checks.map((check) => this.#standingOf(check, nowMs));
    this.#sweep(nowMs);
    if (!refused) return { standings };
    const retryAfterMs = this.#waitFor(refused, nowMs);
    return { standings, refused: { check: refused, ...(retryAfterMs !== undefined && { retryAfterMs }) } };
  }

  async settle(check: Omit<RateCheck, "cost">, units: number): Promise<void> {
    const nowMs = this.#now();
    this.#rates.set(check.key, settleUnits(check, this.#rates.get(check.key), units, nowMs).state);
  }

  async release(leases: readonly Pick<LeaseCheck, "key" | "member">[]): Promise<void> {
    for (const { key, member } of leases) {
      const held = this.#leases.get(key);
      held?.delete(member);
      if (held?.size === 0) this.#leases.delete(key);
    }
  }

  /** Kept also where the call is refused: read alone, the bound would move on with the time. */
  #bound(check: RateCheck, nowMs: number): void {
    const state = this.#rates.get(check.key);
    if (state) this.#rates.set(check.key, standingAt(check, state, nowMs).state);
  }

  #isGranted(check: LimitCheck, nowMs: number): boolean {
    if (check.kind === "rate")
      return takeUnits(check, this.#rates.get(check.key), check.cost, nowMs) !== undefined;
    const held = this.#held(check.key, nowMs);
    return held.has(check.member) || held.size < check.limit;
  }

  #grant(check: LimitCheck, nowMs: number): void {
    if (check.kind === "rate") {
      const taken = takeUnits(check, this.#rates.get(check.key), check.cost, nowMs);
      if (taken) this.#rates.set(check.key, taken.state);
      return;
    }
    const held = this.#held(check.key, nowMs);
    // After all others: they lie in the order in which they end, since a key's leases live equally long.
    held.delete(check.member);
    held.set(check.member, nowMs + check.ttlMs);
    this.#leases.set(check.key, held);
  }

  #standingOf(check: LimitCheck, nowMs: number): Standing {
    if (check.kind === "lease")
      return {
        check,
        remaining: Math.max(0, check.limit - this.#held(check.key, nowMs).size),
        resetMs: 0,
      };
    const { remaining, resetMs } = standingAt(check, this.#rates.get(check.key), nowMs);
    return { check, remaining, resetMs };
  }

  #waitFor(check: LimitCheck, nowMs: number): number | undefined {
    return check.kind === "lease"
      ? LEASE_RETRY_MS
      : waitForUnits(check, this.#rates.get(check.key), check.cost, nowMs);
  }

  /** The leases of a key that have not ended by themselves. */
  #held(key: string, nowMs: number): Map<string, number> {
    const held = this.#leases.get(key) ?? new Map<string, number>();
    for (const [member, endsAtMs] of held) {
      if (endsAtMs > nowMs) break;
      held.delete(member);
    }
    return held;
  }

  /** Each sweep costs as much as there are keys, and the next is due when they have doubled. */
  #sweep(nowMs: number): void {
    if (this.size < this.#sweepAtKeys) return;
    for (const [key, { tatMs }] of this.#rates) if (tatMs <= nowMs) this.#rates.delete(key);
    for (const key of this.#leases.keys()) if (this.#held(key, nowMs).size === 0) this.#leases.delete(key);
    this.#sweepAtKeys = Math.max(SWEEP_KEYS, 2 * this.size);
  }
}
