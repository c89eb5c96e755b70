import { setImmediate as nextTurn } from "node:timers/promises";
import type { Derived, GenerationCache, Hub } from "@reprise/stream";
import type { Frame, Projection } from "@reprise/projections";
import { FIRST_SEQ, plus, type RepriseError, type Seq, toRepriseError } from "@reprise/protocol";
import { FrameWindow } from "./frame-window.ts";
import { ProjectionFold } from "./projection-fold.ts";

/** Minimum size of a projection's window, even if its events have few bytes. */
const MIN_WINDOW_BYTES = 64 * 1_024;
/** Size of a projection's window, as a multiple of the memory of its events. */
const WINDOW_PER_EVENTS = 8;
/** Events folded in one go: some milliseconds at most. */
const SLICE_EVENTS = 256;
/** Bytes of a number in an array. */
const NUMBER_BYTES = 8;

/** `advanced`: events were folded, to the last settled one. `settled`: there were none. `busy`: listeners are called when there is more. */
export type Advance = "advanced" | "settled" | "busy";

export interface ProjectedSource {
  readonly hub: Pick<Hub, "readHistory">;
  readonly cache: GenerationCache;
  readonly projection: Projection<unknown>;
  /** True if each frame has an `id:` line: its number. */
  readonly ids: boolean;
}

/**
 * The frames of one projection of one generation, made once and shared by all its readers on this node.
 *
 * Nothing is folded until a reader asks for it; folding then continues from where it stopped. The newest frames are kept, as the bytes that go to sockets, in
 * a window of eight times the memory of the events, or 64 KiB if that is more: the end of a Responses stream repeats its text four times. A reader that needs older frames makes them for itself (`PrivatePass`). A withdrawal
 * of an event that was already folded has everything folded again. Positions stay the same, because the number of frames that an event makes does not depend
 * on its text.
 */
export class ProjectedFrames implements Derived {
  readonly source: ProjectedSource;
  /** The opening that readers were sent last, and the states that it was made of. */
  opening: { readonly state: unknown; readonly soFar: unknown; readonly window: FrameWindow } | undefined;
  readonly #fold: ProjectionFold<unknown>;
  #window: FrameWindow;
  /** For each event from `#endsFrom` on, the number of frames up to it. */
  #ends: number[] = [];
  #endsFrom: Seq = FIRST_SEQ;
  #isBusy = false;
  readonly #listeners = new Set<(error?: RepriseError) => void>();
  readonly #take = (frames: readonly Frame[]) => {
    for (const frame of frames) this.#window.add(frame);
    this.#ends.push(this.#window.next);
  };

  /** @throws RepriseError `cursor_expired` when the log has lost its beginning */
  constructor(source: ProjectedSource) {
    this.source = source;
    this.#window = new FrameWindow({ ids: source.ids, from: 0 });
    this.#fold = new ProjectionFold(source, source.projection, () => this.#empty());
  }

  /** Memory held, in bytes, about: the window, and the projection's own state. */
  get bytes(): number {
    return this.windowBytes + this.#fold.bytes + (this.opening?.window.bytes ?? 0);
  }

  /** Bytes of the window alone. */
  get windowBytes(): number {
    return this.#window.bytes + NUMBER_BYTES * this.#ends.length;
  }

  /** The oldest frame that is kept. */
  get first(): number {
    return this.#window.first;
  }

  /** The newest frame; one less than the first while there is none. */
  get last(): number {
    return this.#window.last;
  }

  /** Number of frames made so far, kept or not. */
  get count(): number {
    return this.#window.next;
  }

  /** The last event folded; `REQUEST_SEQ` for none. */
  get seq(): Seq {
    return this.#fold.seq;
  }

  /** The projection's state after all of them. */
  get state(): unknown {
    return this.#fold.state;
  }

  /** True if the protocol's own end is among them. */
  get hasEnded(): boolean {
    return this.source.projection.hasEnded(this.#fold.state);
  }

  /** Frames from a position on that are kept and lie together: at least one, then as many as fit into `maxBytes`. */
  view(position: number, maxBytes: number): { bytes: Buffer; next: number } | undefined {
    return this.#window.view(position, maxBytes);
  }

  /** The data of a frame that is kept. */
  dataAt(position: number): string | undefined {
    return this.#window.dataAt(position);
  }

  /**
   * The last event whose frames all lie before a position.
   * @param position at least `first`
   */
  seqBefore(position: number): Seq {
    if (position >= this.count) return this.#fold.seq;
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // `middle` is less than the length.
      if (this.#ends[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return plus(this.#endsFrom, low - 1);
  }

  /** Folds what is settled by now, a slice of it at once. */
  advance(): Advance {
    if (this.#isBusy) return "busy";
    const before = this.#fold.seq;
    const step = this.#fold.step(SLICE_EVENTS, this.#take);
    this.#bound();
    if (step === "settled") return this.#fold.seq > before ? "advanced" : "settled";
    this.#isBusy = true;
    void this.#goOn(step === "absent");
    return "busy";
  }

  /** Calls back when there may be more after `busy`, or with why that failed. Returns how to stop that. */
  listen(listener: (error?: RepriseError) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves when everything is folded that is settled by then.
   * @throws RepriseError `cursor_expired`, `broker_unavailable`; the cache's failure
   */
  async catchUp(): Promise<void> {
    for (let advance = this.advance(); advance !== "settled"; advance = this.advance()) {
      if (advance === "busy") await this.#turn();
      if (this.source.cache.failure) throw this.source.cache.failure;
    }
  }

  /** Without readers nothing is kept: the next one has the events folded again. With readers the state stays: the next frames are made of it. */
  trim(): void {
    this.opening = undefined;
    if (this.#listeners.size === 0) this.#fold.reset();
    else this.#keep(0);
  }

  forget(): void {
    this.opening = undefined;
    this.#fold.reset();
  }

  #bound(): void {
    const mostBytes = Math.max(MIN_WINDOW_BYTES, WINDOW_PER_EVENTS * this.source.cache.shown.frames.bytes);
    if (this.windowBytes > mostBytes) this.#keep(mostBytes - NUMBER_BYTES * this.#ends.length);
  }

  #keep(mostBytes: number): void {
    const before = this.first;
    this.#window.trim(mostBytes);
    if (this.first === before) return;
    const forgotten = this.seqBefore(this.first) - this.#endsFrom + 1;
    this.#ends.splice(0, forgotten);
    this.#endsFrom = plus(this.#endsFrom, forgotten);
  }

  #empty(): void {
    this.#window = new FrameWindow({ ids: this.source.ids, from: 0 });
    this.#ends = [];
    this.#endsFrom = FIRST_SEQ;
  }

  async #goOn(fromLog: boolean): Promise<void> {
    let failure: RepriseError | undefined;
    try {
      if (fromLog) await this.#fold.stepHistory(this.#take);
      else await nextTurn();
    } catch (error) {
      failure = toRepriseError(error);
    }
    this.#bound();
    this.#isBusy = false;
    for (const listener of this.#listeners) listener(failure);
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.listen((error) => {
        stop();
        if (error) reject(error);
        else resolve();
      });
    });
  }
}
