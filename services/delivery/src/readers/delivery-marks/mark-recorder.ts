import type { DeliveryMark } from "@reprise/protocol";
import type { Audience } from "../reader.ts";
import type { ConnectionRecord } from "./connection-record.ts";
import type { DeliveryMarks } from "./delivery-marks.ts";

/** Intervals between records: for readers that have come or gone, and for the progress of the others. */
const BATCH_MS = 1_000;
const MOVED_MS = 5_000;

/**
 * Records the delivery marks of one generation's readers: when one comes, when it goes, and where it is by then. A position is asked for
 * every 4 or 5 s, and never told with an event. One record holds the new marks of all readers, and one record at a time is in flight, so
 * they are stored in order; what could not be stored is sent again with the newest positions.
 */
export class MarkRecorder {
  readonly #marks: DeliveryMarks;
  readonly #audience: Audience;
  /** Last marks of connections that are gone, not stored yet. */
  readonly #ended: DeliveryMark[] = [];
  #dueAtMs = Infinity;
  #recording: Promise<void> | undefined;

  constructor(marks: DeliveryMarks, audience: Audience) {
    this.#marks = marks;
    this.#audience = audience;
  }

  /** Called when the audience has a new reader. */
  entered(): void {
    this.#hasten();
  }

  /** Called when a reader has left the audience. */
  left(record: ConnectionRecord): void {
    const mark = record.end();
    if (!this.#marks.reserve()) return;
    this.#ended.push(mark);
    this.#hasten();
  }

  sweep(nowMs: number): void {
    if (this.#recording || this.#dueAtMs > nowMs) return;
    this.#recording = this.#marks.run(() => this.#record()).finally(() => (this.#recording = undefined));
  }

  /** True if all readers that have left are recorded. */
  get isDone(): boolean {
    return this.#ended.length === 0 && !this.#recording;
  }

  /** Records what is left. To be called when every connection is gone. */
  async close(): Promise<void> {
    await this.#recording;
    await this.#marks.run(() => this.#record());
  }

  async #record(): Promise<void> {
    // The records of generations that began together come apart.
    this.#dueAtMs = performance.now() + MOVED_MS * (1 - this.#marks.random() / 4);
    const changed: { record: ConnectionRecord; mark: DeliveryMark }[] = [];
    for (const { record } of this.#audience.readers)
      if (record?.hasUnrecorded) changed.push({ record, mark: record.mark() });
    const gone = [...this.#ended];
    if (!(await this.#marks.store(this.#audience.ref, [...gone, ...changed.map(({ mark }) => mark)])))
      return this.#hasten();
    for (const { record, mark } of changed) record.recorded(mark);
    this.#ended.splice(0, gone.length);
    this.#marks.release(gone.length);
  }

  #hasten(): void {
    this.#dueAtMs = Math.min(this.#dueAtMs, performance.now() + BATCH_MS);
  }
}
