import { setImmediate as nextTurn } from "node:timers/promises";
import type { Derived } from "@reprise/stream";
import type { Frame } from "@reprise/projections";
import { FIRST_SEQ, type Seq } from "@reprise/protocol";
import { FrameWindow } from "./frame-window.ts";
import type { ProjectedSource } from "./projected-frames.ts";
import { ProjectionFold } from "./projection-fold.ts";

/** Events folded in one go. */
const SLICE_EVENTS = 64;

/**
 * Frames that the node no longer keeps, folded for one reader from the log's beginning. A reader that falls back again continues from there, so even a slow
 * reader costs only one pass over the log. Its memory counts as the cache's until it is stopped.
 */
export class PrivatePass implements Derived {
  readonly #ids: boolean;
  readonly #fold: ProjectionFold<unknown>;
  readonly #detach: () => void;
  /** The frames made last. */
  #made: FrameWindow | undefined;
  #firstSeq: Seq = FIRST_SEQ;
  #isStopped = false;

  /** @throws RepriseError `cursor_expired` when the log has lost its beginning */
  constructor(source: ProjectedSource) {
    this.#ids = source.ids;
    this.#fold = new ProjectionFold(source, source.projection, () => (this.#made = undefined));
    this.#detach = source.cache.attach(this);
  }

  /** Memory held, in bytes, about. */
  get bytes(): number {
    return this.#fold.bytes + (this.#made?.bytes ?? 0);
  }

  /** The last event folded. */
  get seq(): Seq {
    return this.#fold.seq;
  }

  /** The event of the first frame that was made last. */
  get firstSeq(): Seq {
    return this.#firstSeq;
  }

  /**
   * Returns a few frames, the first at `position`; none if the settled log ends before it.
   * @throws RepriseError `cursor_expired`, `broker_unavailable`; the cache's failure
   */
  async next(position: number): Promise<FrameWindow> {
    const made = this.#made;
    if (made && made.first <= position && position < made.next) return made;
    if (this.#fold.frames > position) this.#fold.reset();
    const frames = new FrameWindow({ ids: this.#ids, from: position });
    const take = (ofEvent: readonly Frame[], first: number) => {
      for (const [i, frame] of ofEvent.entries()) {
        if (first + i !== frames.next) continue;
        if (frames.next === position) this.#firstSeq = this.#fold.seq;
        frames.add(frame);
      }
    };
    for (;;) {
      const step = this.#fold.step(SLICE_EVENTS, take);
      if (frames.next === position && step === "absent") await this.#fold.stepHistory(take);
      else if (frames.next === position && step === "more") await nextTurn();
      if (frames.next > position || step === "settled" || this.#isStopped) return (this.#made = frames);
    }
  }

  /** Frees nothing: its reader needs all of it, and folding the log again each time that memory is short would cost the node more than it frees. */
  trim(): void {}

  forget(): void {
    this.#fold.reset();
  }

  /** To be called when the reader has gone. What is being made then may lack its frames. */
  stop(): void {
    this.#isStopped = true;
    this.#fold.stop();
    this.#detach();
  }
}
