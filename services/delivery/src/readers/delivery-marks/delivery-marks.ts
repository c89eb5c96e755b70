import { Semaphore } from "@reprise/async";
import { type Publish, recordOps } from "@reprise/broker";
import type { DeliveryMark, GenerationRef, NodeId } from "@reprise/protocol";
import { toParts } from "./to-parts.ts";

export interface DeliveryMarksOptions {
  readonly publish: Publish;
  readonly node: NodeId;
  /** Called with how many readers' last marks could not be recorded, once that is over. */
  readonly onLost: (marks: number) => void;
  readonly onError: (error: unknown) => void;
  /** The most last marks that wait for a broker. Default 10,000. */
  readonly maxWaiting?: number;
  readonly random?: () => number;
}

const RECORDS_AT_ONCE = 32;
const MAX_WAITING = 10_000;
/** Milliseconds that `close` continues while the broker is unavailable. */
const CLOSE_MS = 3_000;

/**
 * Records in OPS what every connection was handed: what the `MarkRecorder`s of all generations share.
 *
 * No call waits for it. While the broker is away, the marks of connections that are gone are kept up to a limit, and beyond that dropped
 * and counted.
 */
export class DeliveryMarks {
  readonly #options: Required<DeliveryMarksOptions>;
  readonly #records = new Semaphore(RECORDS_AT_ONCE);
  #closeByMs = Infinity;
  #waiting = 0;
  #lost = 0;
  #lostTold = 0;

  constructor({ maxWaiting = MAX_WAITING, random = Math.random, ...options }: DeliveryMarksOptions) {
    this.#options = { ...options, maxWaiting, random };
  }

  /** Number of last marks that were lost since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Lets the recorders store what is left, for 3 s at most where the broker does not answer. */
  async close(recorders: readonly { close(): Promise<void> }[]): Promise<void> {
    this.#closeByMs = performance.now() + CLOSE_MS;
    await Promise.all(recorders.map((recorder) => recorder.close()));
    this.#lost += this.#waiting;
    this.release(this.#waiting);
  }

  random(): number {
    return this.#options.random();
  }

  /** @returns whether there is room for one more last mark, which `release` frees; if there is none, the mark counts as lost */
  reserve(): boolean {
    const hasRoom = this.#waiting < this.#options.maxWaiting;
    if (hasRoom) this.#waiting++;
    else this.#lost++;
    return hasRoom;
  }

  release(marks: number): void {
    this.#waiting -= marks;
    if (this.#lost > this.#lostTold) this.#options.onLost(this.#lost - this.#lostTold);
    this.#lostTold = this.#lost;
  }

  /** Runs a few recordings at once, and queues the others. Reports what is thrown. */
  async run(recording: () => Promise<void>): Promise<void> {
    await this.#records.run(recording).catch(this.#options.onError);
  }

  /** @returns whether all of them are stored */
  async store(ref: GenerationRef, marks: readonly DeliveryMark[]): Promise<boolean> {
    const { publish, node } = this.#options;
    for (const readers of toParts(marks)) {
      const leftMs = this.#closeByMs - performance.now();
      if (leftMs < 0) return false;
      // A retry would store outdated positions, so there is none, except at the end, when positions do not change.
      const budgetMs = leftMs === Infinity ? 0 : leftMs;
      const record = { kind: "delivered", at: new Date().toISOString(), node, readers } as const;
      if (!(await recordOps(publish, ref, record, { budgetMs }))) return false;
    }
    return true;
  }
}
