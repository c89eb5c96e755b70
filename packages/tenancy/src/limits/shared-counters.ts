import type { Counters, Decision, LeaseCheck, LimitCheck, RateCheck } from "./counters.ts";

export interface SharedCountersOptions {
  /** The counters of all nodes. */
  shared: Counters;
  /** The counters of this node, for the time in which the shared ones do not answer. */
  local: Counters;
  /** How many nodes divide a limit between them while the shared counters are away, this one included. */
  nodes: () => number;
  /** Told once when the shared counters stop answering, and once when they answer again. */
  onAway: (error: unknown) => void;
  onBack: () => void;
  now?: () => number;
}

/** What asks the shared counters: calls for their limits, and the node itself, which says that it is there. */
type Asking = "calls" | "node";

/** Of no tenant, and refused to none. */
const PROBE: RateCheck = {
  kind: "rate",
  name: "probe",
  key: "probe",
  limit: 1_000_000_000,
  windowMs: 1_000,
  cost: 1,
};

/** How long the shared counters are left alone after a failure: every call would wait for its time limit meanwhile. */
const REST_MS = 1_000;

/**
 * Counters that all nodes share, with a stated answer for an outage: each node goes on alone with its share of every limit. No call fails, and
 * all nodes together grant what they grant otherwise, and once more the limit at most when the outage begins: local counters know nothing
 * of what was taken before.
 */
export class SharedCounters implements Counters {
  readonly #options: SharedCountersOptions;
  readonly #now: () => number;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  /** What had no answer the last time. One of them that is answered says nothing of the other: Redis may refuse a single command. */
  readonly #unanswered = new Set<Asking>();

  constructor(options: SharedCountersOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether this node goes on alone. */
  get isAway(): boolean {
    return this.#unanswered.size > 0;
  }

  async take(checks: readonly LimitCheck[]): Promise<Decision> {
    // Redis is not asked for nothing, and so has not answered.
    if (checks.length === 0) return { standings: [] };
    const { shared, local, nodes } = this.#options;
    const share = Math.max(1, nodes());
    return this.#ask(
      () => shared.take(checks),
      () => local.take(checks.map((check) => ({ ...check, limit: shareOf(check, share) }))),
    );
  }

  async settle(check: Omit<RateCheck, "cost">, units: number): Promise<void> {
    const { shared, local, nodes } = this.#options;
    const limit = Math.max(1, Math.floor(check.limit / Math.max(1, nodes())));
    return this.#ask(
      () => shared.settle(check, units),
      () => local.settle({ ...check, limit }, units),
    );
  }

  async release(leases: readonly Pick<LeaseCheck, "key" | "member">[]): Promise<void> {
    if (leases.length === 0) return;
    // A lease may have been taken on either side of an outage.
    await this.#options.local.release(leases);
    await this.#ask(
      () => this.#options.shared.release(leases),
      async () => {},
    );
  }

  /** The shared counters have not answered. */
  lost(asking: Asking, error: unknown): void {
    const { isAway } = this;
    this.#unanswered.add(asking);
    if (!isAway) this.#options.onAway(error);
  }

  /** They have answered. */
  found(asking: Asking): void {
    if (this.#unanswered.delete(asking) && !this.isAway) this.#options.onBack();
  }

  /** Finds out whether calls are answered again, where the last one was not: on an idle node no other call does. */
  async probe(): Promise<void> {
    if (this.#unanswered.has("calls")) await this.take([PROBE]);
  }

  async #ask<T>(shared: () => Promise<T>, local: () => Promise<T>): Promise<T> {
    if (this.#now() < this.#restsUntilMs) return local();
    try {
      const answer = await shared();
      this.found("calls");
      return answer;
    } catch (error) {
      this.#restsUntilMs = this.#now() + REST_MS;
      this.lost("calls", error);
      return local();
    }
  }
}

/** A call that the whole limit has room for is possible alone too, however many nodes there are. */
function shareOf(check: LimitCheck, nodes: number): number {
  const share = Math.max(1, Math.floor(check.limit / nodes));
  return check.kind === "rate" && check.cost <= check.limit ? Math.max(share, check.cost) : share;
}
