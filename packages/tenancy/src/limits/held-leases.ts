import type { Counters, LeaseCheck } from "./counters.ts";

/** For how long a lease counts without a renewal: the leases of a node that dies are free after so long. */
export const LEASE_TTL_MS = 60_000;
const RENEWALS_PER_TTL = 3;
/** Leases that are renewed in one round trip. */
const BATCH = 256;

/**
 * The leases that this node holds, renewed until they are released. A counter that has lost them, in a restart without its data,
 * has them again with the next renewal, also above the limit: what runs is not ended by a lost counter.
 */
export class HeldLeases implements AsyncDisposable {
  readonly #counters: Counters;
  readonly #held = new Map<string, readonly LeaseCheck[]>();
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> | undefined;

  constructor(
    counters: Counters,
    { onError, ttlMs = LEASE_TTL_MS }: { onError: (error: unknown) => void; ttlMs?: number },
  ) {
    this.#counters = counters;
    this.#onError = onError;
    this.#timer = setInterval(() => void this.renew(), ttlMs / RENEWALS_PER_TTL);
    this.#timer.unref();
  }

  get size(): number {
    return this.#held.size;
  }

  has(holder: string): boolean {
    return this.#held.has(holder);
  }

  /** Keeps the leases that were granted to a holder; a second call for the same holder replaces them. */
  keep(holder: string, leases: readonly LeaseCheck[]): void {
    if (leases.length > 0) this.#held.set(holder, leases);
  }

  /** Ends a holder's leases; nothing happens when it has none. */
  release(holder: string): void {
    const leases = this.#held.get(holder);
    if (!leases) return;
    this.#held.delete(holder);
    this.#counters.release(leases).catch(this.#onError);
  }

  /** Renews all leases now. One renewal runs at a time. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewAll()
      .catch(this.#onError)
      .finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renewAll(): Promise<void> {
    const all = [...this.#held.entries()];
    for (let i = 0; i < all.length; i += BATCH) {
      const batch = all.slice(i, i + BATCH).filter(([holder]) => this.#held.has(holder));
      // Without a limit: a renewal is never refused.
      const leases = batch.flatMap(([, held]) =>
        held.map((lease) => ({ ...lease, limit: Number.MAX_SAFE_INTEGER })),
      );
      await this.#counters.take(leases);
      // Those that ended while they were renewed.
      const ended = batch.filter(([holder]) => !this.#held.has(holder)).flatMap(([, held]) => held);
      await this.#counters.release(ended);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    const leases = [...this.#held.values()].flat();
    this.#held.clear();
    await this.#counters.release(leases).catch(this.#onError);
  }
}
