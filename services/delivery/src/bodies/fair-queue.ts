interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/** How long a request may wait for its turn before it is refused, in milliseconds. */
const MAX_WAIT_MS = 5_000;

/** Calls back later. */
export type Rest = (next: () => void) => void;

/**
 * Calls back when three times as much has gone by as this turn of the event loop takes: what rests like this between its parts begins
 * them in a quarter of the loop's time at most, however much there is of it. What they still have to do later has its place in the rest.
 */
export function restFromBusy(next: () => void): void {
  const begunAt = performance.now();
  setImmediate(() => setTimeout(next, RESTS * (performance.now() - begunAt)));
}

const RESTS = 3;

/**
 * Lets large requests in one behind the other, so many bytes of them at a time: each costs this process milliseconds in which nothing
 * else runs, and the broker's time. Tenants take turns, however much one of them has waiting. Between two that begin there is a
 * rest, in which all other work goes on.
 */
export class FairQueue {
  readonly #maxBytes: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #bytes = 0;
  readonly #rest: Rest;
  readonly #maxWaitMs: number;
  #isResting = false;

  /** @param maxBytes how much may be under way at a time; a larger one than that goes alone */
  constructor(maxBytes: number, rest: Rest = restFromBusy, maxWaitMs = MAX_WAIT_MS) {
    this.#maxBytes = maxBytes;
    this.#rest = rest;
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Resolves with true when it is this one's turn, and with false when that has not come in time. `leave` is to be called for each that
   * has begun.
   */
  enter(tenant: string, bytes: number): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = setTimeout(() => {
        this.#remove(tenant, waiting);
        resolve(false);
      }, this.#maxWaitMs);
      const begin = () => {
        clearTimeout(giveUp);
        resolve(true);
      };
      const waiting: Waiting = { bytes, begin };
      const others = this.#waiting.get(tenant);
      if (others) others.push(waiting);
      else this.#waiting.set(tenant, [waiting]);
      this.#beginNext();
    });
  }

  leave(bytes: number): void {
    this.#bytes -= bytes;
    this.#beginNext();
  }

  #remove(tenant: string, waiting: Waiting): void {
    const others = (this.#waiting.get(tenant) ?? []).filter((one) => one !== waiting);
    if (others.length > 0) this.#waiting.set(tenant, others);
    else this.#waiting.delete(tenant);
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (!next || this.#isResting) return;
    const [tenant, [first, ...others]] = next;
    const { bytes, begin } = first!;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#maxBytes) return;
    this.#waiting.delete(tenant);
    if (others.length > 0) this.#waiting.set(tenant, others);
    this.#bytes += bytes;
    this.#isResting = true;
    begin();
    this.#rest(() => {
      this.#isResting = false;
      this.#beginNext();
    });
  }
}
