import type { ShardEvent } from "@reprise/stream";
import type { StreamSeq, UnixMs } from "@reprise/protocol";

interface Mark {
  /** The time when the first event was stored. */
  readonly storedAtMs: UnixMs;
  lastStreamSeq: StreamSeq;
}

/** Events beyond this count as old as the last mark, so that a verdict that can't be stored costs no memory. */
const MAX_MARKS = 1_000;

/** The age of a shard's oldest event that was read and whose verdict is not stored. */
export class ShardLag {
  readonly #marks: Mark[] = [];

  /** @param events in stream order, after those of the calls before */
  read(events: readonly Pick<ShardEvent, "streamSeq" | "storedAtMs">[]): void {
    const [first] = events;
    const last = events.at(-1);
    if (first === undefined || last === undefined) return;
    const mark = this.#marks.at(-1);
    if (mark !== undefined && this.#marks.length >= MAX_MARKS) mark.lastStreamSeq = last.streamSeq;
    else this.#marks.push({ storedAtMs: first.storedAtMs, lastStreamSeq: last.streamSeq });
  }

  /** @param upTo the last place of the stream up to which every verdict is stored */
  settle(upTo: StreamSeq): void {
    const open = this.#marks.findIndex(({ lastStreamSeq }) => lastStreamSeq > upTo);
    this.#marks.splice(0, open === -1 ? this.#marks.length : open);
  }

  /** 0 when nothing waits. Events that were read at once count as as old as their first. */
  ageMs(nowMs: number): number {
    const [oldest] = this.#marks;
    return oldest === undefined ? 0 : Math.max(0, nowMs - oldest.storedAtMs);
  }
}
