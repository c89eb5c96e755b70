import type { ReaderCounts } from "./sse-stream.ts";

const HEARTBEAT_MS = 15_000;
const MAX_SWEEP_MS = 1_000;
/** Told to come back at once, all readers of a node would hit the others in the same second. */
const COME_BACK_MS = { least: 100, most: 2_000 };

export interface ReadersOptions {
  /** After how long without a byte a reader is sent a heartbeat. Default 15 s. */
  heartbeatMs?: number | undefined;
  random?: () => number;
}

/** A connection that is being sent events, of the live log or the archive. */
export interface ReaderStream {
  /** Sends a comment if nothing else was sent for so long. */
  heartbeat(now: number, everyMs: number): void;
  /** Tells the client to come back after a while, and breaks the connection. */
  disconnectWithRetry(retryMs: number): void;
}

/** All readers of this node: one heartbeat timer for all, and an orderly way home for all. */
export class ReaderRegistry implements ReaderCounts {
  eventsDelivered = 0;
  fallenBack = 0;
  readonly #streams = new Set<ReaderStream>();
  readonly #timer: NodeJS.Timeout;
  readonly #random: () => number;

  constructor({ heartbeatMs = HEARTBEAT_MS, random = Math.random }: ReadersOptions = {}) {
    this.#random = random;
    const sweep = () => this.#heartbeat(Date.now(), heartbeatMs);
    this.#timer = setInterval(sweep, Math.min(MAX_SWEEP_MS, heartbeatMs));
    this.#timer.unref();
  }

  get count(): number {
    return this.#streams.size;
  }

  add(stream: ReaderStream): void {
    this.#streams.add(stream);
  }

  remove(stream: ReaderStream): void {
    this.#streams.delete(stream);
  }

  /** Disconnects all readers, each with another retry delay. */
  drain(): void {
    clearInterval(this.#timer);
    const { least, most } = COME_BACK_MS;
    for (const stream of this.#streams) stream.disconnectWithRetry(least + this.#random() * (most - least));
  }

  #heartbeat(now: number, everyMs: number): void {
    for (const stream of this.#streams) stream.heartbeat(now, everyMs);
  }
}
