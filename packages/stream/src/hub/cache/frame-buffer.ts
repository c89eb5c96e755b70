import type { Seq } from "@reprise/protocol";

/**
 * Encoding of an event in the hub's memory: encoded once, as the bytes that most readers are sent, so that delivering it is one write of a view.
 * The owner of the wire format (delivery) implements this.
 */
export interface Framing {
  /** The most bytes that a frame for a payload of this length can take. */
  maxBytes(payloadLength: number): number;
  /** Writes the frame for one event and returns where it ends. */
  write(target: Buffer, at: number, cursor: string, payload: Uint8Array): number;
  /** The payload inside a frame that `write` has made. */
  payloadOf(frame: Buffer): Buffer;
}

interface Slab {
  readonly buffer: Buffer;
  /** Where frames end, one entry per frame. */
  readonly ends: number[];
  readonly firstSeq: Seq;
}

const FIRST_SLAB_BYTES = 2 * 1_024;
const MAX_SLAB_BYTES = 64 * 1_024;

/**
 * The frames of consecutive events, back to back in slabs. A lagging reader is sent views of many frames at once, and nothing is copied or joined
 * per reader. Bytes never change once written; a slab that was dropped or replaced lives for as long as a socket still holds a view of it.
 */
export class FrameBuffer {
  readonly #framing: Framing;
  #slabs: Slab[] = [];
  #bytes = 0;
  #firstSeq: Seq;
  #nextSeq: Seq;
  #lastView: { from: number; maxBytes: number; lastSeq: Seq; next: Seq; bytes: Buffer } | undefined;

  /** @param firstSeq the `seq` of the first event that will be appended */
  constructor(framing: Framing, firstSeq: Seq) {
    this.#framing = framing;
    this.#firstSeq = firstSeq;
    this.#nextSeq = firstSeq;
  }

  /** Memory held, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The oldest event that is kept. */
  get firstSeq(): Seq {
    return this.#firstSeq;
  }

  /** The event that `append` will take next. */
  get nextSeq(): Seq {
    return this.#nextSeq;
  }

  append(cursor: string, payload: Uint8Array): void {
    const slab = this.#slabFor(this.#framing.maxBytes(payload.length));
    const end = this.#framing.write(slab.buffer, slab.ends.at(-1) ?? 0, cursor, payload);
    slab.ends.push(end);
    this.#nextSeq++;
    this.#lastView = undefined;
  }

  /**
   * Frames from `seq` on, to `lastSeq` at most, that lie together in memory: at least one, then as many as fit into `maxBytes`.
   * Undefined when `seq` is beyond `lastSeq`, or not kept (any more, or yet). Readers at the same place share one view.
   */
  view(
    seq: Seq,
    maxBytes: number,
    lastSeq = (this.#nextSeq - 1) as Seq,
  ): { bytes: Buffer; next: Seq } | undefined {
    if (seq < this.#firstSeq || seq > lastSeq || seq >= this.#nextSeq) return undefined;
    const last = this.#lastView;
    if (last?.from === seq && last.maxBytes === maxBytes && last.lastSeq === lastSeq) return last;
    // A seq that is kept lies in a slab.
    const slab = this.#slabs[this.#slabIndex(seq)]!;
    const index = seq - slab.firstSeq;
    const lastIndex = Math.min(slab.ends.length - 1, lastSeq - slab.firstSeq);
    // The slab has an end for each of its frames; these are at most its last.
    const start = index === 0 ? 0 : slab.ends[index - 1]!;
    let endIndex = index;
    // `lastIndex` is that of a frame.
    if (slab.ends[lastIndex]! - start <= maxBytes) endIndex = lastIndex;
    // The frame at `lastIndex` ends beyond `maxBytes`.
    else while (slab.ends[endIndex + 1]! - start <= maxBytes) endIndex++;
    const bytes = slab.buffer.subarray(start, slab.ends[endIndex]);
    this.#lastView = { from: seq, maxBytes, lastSeq, next: (slab.firstSeq + endIndex + 1) as Seq, bytes };
    return this.#lastView;
  }

  /** The stored payload of one event that is kept. */
  payloadAt(seq: Seq): Buffer | undefined {
    const view = this.view(seq, 0);
    return view && this.#framing.payloadOf(view.bytes);
  }

  /**
   * Replaces events that are kept. Their slabs are rewritten: a socket's views of the old slabs stay unchanged.
   * @param rewrite returns an event's cursor and new payload for its old payload
   */
  replace(
    fromSeq: Seq,
    toSeq: Seq,
    rewrite: (seq: Seq, payload: Buffer) => { cursor: string; payload: Uint8Array },
  ): void {
    const [first, last] = [Math.max(fromSeq, this.#firstSeq), Math.min(toSeq, (this.#nextSeq - 1) as Seq)];
    if (first > last) return;
    const [firstSlab, lastSlab] = [this.#slabIndex(first), this.#slabIndex(last)];
    for (let i = firstSlab; i <= lastSlab; i++) {
      // `#slabIndex` gives indices of slabs.
      const old = this.#slabs[i]!;
      const isReplaced = (seq: Seq) => seq >= first && seq <= last;
      const slab = this.#copySlab(old, (seq, payload) =>
        isReplaced(seq) ? rewrite(seq, payload) : undefined,
      );
      this.#bytes += slab.buffer.length - old.buffer.length;
      this.#slabs[i] = slab;
    }
    this.#lastView = undefined;
  }

  /** Forgets the oldest slabs until at most `maxBytes` are held; the newest one always stays. */
  trim(maxBytes: number): void {
    while (this.#slabs.length > 1 && this.#bytes > maxBytes) {
      // There are two slabs at least.
      this.#bytes -= this.#slabs.shift()!.buffer.length;
      // The newest slab is left.
      this.#firstSeq = this.#slabs[0]!.firstSeq;
      this.#lastView = undefined;
    }
  }

  #slabFor(frameBytes: number): Slab {
    const last = this.#slabs.at(-1);
    if (last && last.buffer.length - (last.ends.at(-1) ?? 0) >= frameBytes) return last;
    const doubled = last ? Math.min(MAX_SLAB_BYTES, last.buffer.length * 2) : FIRST_SLAB_BYTES;
    const buffer = Buffer.allocUnsafeSlow(Math.max(doubled, frameBytes));
    const slab = { buffer, ends: [], firstSeq: this.#nextSeq };
    this.#slabs.push(slab);
    this.#bytes += buffer.length;
    return slab;
  }

  /** @param rewrite undefined for a frame that stays as it is */
  #copySlab(
    { buffer, ends, firstSeq }: Slab,
    rewrite: (seq: Seq, payload: Buffer) => { cursor: string; payload: Uint8Array } | undefined,
  ): Slab {
    const frames = ends.map((end, i) => {
      const frame = buffer.subarray(i === 0 ? 0 : ends[i - 1], end);
      return { frame, changed: rewrite((firstSeq + i) as Seq, this.#framing.payloadOf(frame)) };
    });
    const bytes = frames.reduce((sum, { frame, changed }) => {
      return sum + (changed ? this.#framing.maxBytes(changed.payload.length) : frame.length);
    }, 0);
    const target = Buffer.allocUnsafeSlow(Math.max(buffer.length, bytes));
    let at = 0;
    const newEnds = frames.map(({ frame, changed }) => {
      if (changed) at = this.#framing.write(target, at, changed.cursor, changed.payload);
      else at += frame.copy(target, at);
      return at;
    });
    return { buffer: target, ends: newEnds, firstSeq };
  }

  #slabIndex(seq: Seq): number {
    let low = 0;
    let high = this.#slabs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      // `middle` is from `low` to `high`: the index of a slab.
      if (this.#slabs[middle]!.firstSeq <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
