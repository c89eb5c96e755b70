import { performance } from "node:perf_hooks";
import type { Reservation } from "./byte-budget.ts";

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/** Milliseconds that a request may wait for its turn before it is refused. */
const MAX_WAIT_MS = 5_000;

/** Clock and timer of a `FairQueue`. */
export interface Load {
  /** For how long the event loop was busy so far, in milliseconds. */
  busyMs(): number;
  /** Calls back after `ms` milliseconds, and never in this turn of the event loop. */
  rest(next: () => void, ms: number): void;
}

const LOOP: Load = {
  busyMs: () => performance.eventLoopUtilization().active,
  rest: (next, ms) => void setImmediate(() => setTimeout(next, ms)),
};

/** For reads: they cost this process little CPU time, and wait only for memory. */
export const NO_REST: Load = { busyMs: () => 0, rest: (next) => void setImmediate(next) };

export interface FairQueueOptions {
  readonly load?: Load;
  readonly maxWaitMs?: number;
  /** Bytes that one tenant may have in flight. Default: the total limit. */
  readonly maxOfTenant?: number;
}

/**
 * For a multiple of the time that the loop was busy with large requests it is left to all others: a worker and the broker have as much work with
 * each, and a small request waits wherever it meets one.
 */
const RESTS = 12;
/** Limit of a rest. A request that waits for an unavailable broker is slow, but not a reason to keep others waiting. */
const MAX_REST_MS = 1_000;

/**
 * Admits large requests one after the other, with a limit of bytes at a time: each blocks this process for some milliseconds, and takes as much time of the
 * broker and a worker. Tenants take turns, however many requests one of them has waiting. After each request there is a rest: large requests get at most a
 * thirteenth of the event loop, and less if other work keeps it busy.
 */
export class FairQueue {
  readonly #maxBytes: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, [Waiting, ...Waiting[]]>();
  readonly #load: Load;
  readonly #maxWaitMs: number;
  readonly #maxOfTenant: number;
  readonly #ofTenants = new Map<string, number>();
  #bytes = 0;
  #rests = 0;

  /** @param maxBytes how much may be under way at a time; a larger one than that goes alone */
  constructor(
    maxBytes: number,
    { load = LOOP, maxWaitMs = MAX_WAIT_MS, maxOfTenant = Number.POSITIVE_INFINITY }: FairQueueOptions = {},
  ) {
    this.#maxBytes = maxBytes;
    this.#maxOfTenant = maxOfTenant;
    this.#load = load;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Resolves with a place when it is this one's turn, and with undefined when that has not come in time. */
  enter(tenant: string, bytes: number): Promise<Reservation | undefined> {
    return new Promise((resolve) => {
      const giveUp = setTimeout(() => {
        this.#remove(tenant, waiting);
        resolve(undefined);
      }, this.#maxWaitMs);
      const begin = () => {
        clearTimeout(giveUp);
        resolve(this.#take(tenant, bytes));
      };
      const waiting: Waiting = { bytes, begin };
      const others = this.#waiting.get(tenant);
      if (others) others.push(waiting);
      else this.#waiting.set(tenant, [waiting]);
      this.#beginNext();
    });
  }

  #take(tenant: string, bytes: number): Reservation {
    const busyBefore = this.#load.busyMs();
    this.#add(tenant, bytes);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#add(tenant, -bytes);
        this.#rest(Math.min(RESTS * (this.#load.busyMs() - busyBefore), MAX_REST_MS));
      },
    };
  }

  #add(tenant: string, bytes: number): void {
    this.#bytes += bytes;
    const all = (this.#ofTenants.get(tenant) ?? 0) + bytes;
    if (all > 0) this.#ofTenants.set(tenant, all);
    else this.#ofTenants.delete(tenant);
  }

  #rest(ms: number): void {
    this.#rests++;
    this.#load.rest(() => {
      this.#rests--;
      this.#beginNext();
    }, ms);
  }

  #remove(tenant: string, waiting: Waiting): void {
    this.#setWaiting(
      tenant,
      (this.#waiting.get(tenant) ?? []).filter((one) => one !== waiting),
    );
  }

  #setWaiting(tenant: string, [first, ...others]: Waiting[]): void {
    if (first) this.#waiting.set(tenant, [first, ...others]);
    else this.#waiting.delete(tenant);
  }

  /** One that has its part already keeps its turn, and others go past it. */
  #mayHave(tenant: string, bytes: number): boolean {
    return (this.#ofTenants.get(tenant) ?? 0) + bytes <= this.#maxOfTenant;
  }

  #beginNext(): void {
    if (this.#rests > 0) return;
    const next = this.#waiting.entries().find(([tenant, [{ bytes }]]) => this.#mayHave(tenant, bytes));
    if (!next) return;
    const [tenant, [first, ...others]] = next;
    const { bytes, begin } = first;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#maxBytes) return;
    // The tenant moves to the end of the queue.
    this.#waiting.delete(tenant);
    this.#setWaiting(tenant, others);
    begin();
    // No two begin in one turn of the event loop.
    this.#rest(0);
  }
}
