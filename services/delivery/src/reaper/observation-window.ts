import { type UnixMs, NEVER, plusMs } from "@reprise/protocol";

/**
 * From when on absence can be judged. While the broker is away no node can announce its readers, and their presence records run out. So
 * a reaper must have had the broker's answers, at least one within each lease, for a whole lease: by then every node that
 * lives has announced its readers again. That delays a judgement after an outage or a start, and never changes it.
 */
export class ObservationWindow {
  readonly #leaseMs: number;
  #beganMs = NEVER;
  #seenMs = -Infinity;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  get judgedFromMs(): UnixMs {
    return plusMs(this.#beganMs, this.#leaseMs);
  }

  /** The broker has answered. @param brokerTimeMs by its own clock */
  seen(brokerTimeMs: UnixMs): void {
    if (Math.abs(brokerTimeMs - this.#seenMs) >= this.#leaseMs) this.#beganMs = brokerTimeMs;
    this.#seenMs = brokerTimeMs;
  }

  /** The broker has not answered. */
  broken(): void {
    this.#beganMs = NEVER;
    this.#seenMs = -Infinity;
  }
}
