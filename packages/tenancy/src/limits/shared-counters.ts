import type { RedisAccess } from "../redis/redis-access.ts";
import type { Counters, Decision, LeaseCheck, LimitCheck, RateCheck } from "./counters.ts";

export interface SharedCountersOptions {
  /** The counters of all nodes. */
  shared: Counters;
  /** The counters of this node, for the time in which the shared ones do not answer. */
  local: Counters;
  /** Number of nodes that share a limit while the shared counters are unavailable, this one included. */
  nodes: () => number;
  access: RedisAccess;
}

/** Belongs to no tenant, and is never refused. */
const PROBE: RateCheck = {
  kind: "rate",
  name: "probe",
  key: "probe",
  limit: 1_000_000_000,
  windowMs: 1_000,
  cost: 1,
};

/**
 * Counters that all nodes share, with a defined behaviour in an outage: each node continues alone with its share of every limit. No call fails. All nodes
 * together grant the same as otherwise, and at most the limit once more when the outage begins: local counters do not know the earlier use.
 */
export class SharedCounters implements Counters {
  readonly #options: SharedCountersOptions;

  constructor(options: SharedCountersOptions) {
    this.#options = options;
  }

  async take(checks: readonly LimitCheck[]): Promise<Decision> {
    // Redis is not asked for nothing, and so has not answered.
    if (checks.length === 0) return { standings: [] };
    const { shared, local, nodes, access } = this.#options;
    const share = Math.max(1, nodes());
    return access.ask(
      () => shared.take(checks),
      () => local.take(checks.map((check) => ({ ...check, limit: shareOf(check, share) }))),
    );
  }

  async settle(check: Omit<RateCheck, "cost">, units: number): Promise<void> {
    const { shared, local, nodes, access } = this.#options;
    const limit = Math.max(1, Math.floor(check.limit / Math.max(1, nodes())));
    return access.ask(
      () => shared.settle(check, units),
      () => local.settle({ ...check, limit }, units),
    );
  }

  async release(leases: readonly Pick<LeaseCheck, "key" | "member">[]): Promise<void> {
    if (leases.length === 0) return;
    // A lease may have been taken on either side of an outage.
    await this.#options.local.release(leases);
    await this.#options.access.ask(
      () => this.#options.shared.release(leases),
      async () => {},
    );
  }

  /** Finds out whether calls are answered again, where the last one was not: on an idle node no other call does. */
  async probe(): Promise<void> {
    if (this.#options.access.areCallsUnanswered) await this.take([PROBE]);
  }
}

/** A call that the whole limit has room for is possible alone too, however many nodes there are. */
function shareOf(check: LimitCheck, nodes: number): number {
  const share = Math.max(1, Math.floor(check.limit / nodes));
  return check.kind === "rate" && check.cost <= check.limit ? Math.max(share, check.cost) : share;
}
