import { setImmediate as nextTurn } from "node:timers/promises";
import type { Derived, GenerationCache, Hub } from "@reprise/stream";
import type { ProjectedRun } from "@reprise/projections";
import type { Seq } from "@reprise/protocol";
import { type Fold, ProjectionFold } from "./projection-fold.ts";

/** Result of folding a generation's settled events. */
export interface Settled<State> {
  /** Shared with others: not to be changed. */
  readonly state: State;
  readonly run: ProjectedRun;
  /** True if the state has all events that there will be. */
  readonly isOver: boolean;
  /** The last event in the state; `REQUEST_SEQ` for none. */
  readonly lastSeq: Seq;
  /** The part of the log that this node has, settled or not. */
  readonly log: { readonly lastSeq: Seq; readonly ended: boolean };
}

/** Events folded in one go: some milliseconds at most. */
const SLICE_EVENTS = 256;

/**
 * A fold of one generation for answers that are one body, shared by all of them on this node: each one folds what has come since the last. Without a caller
 * the state goes when memory is short, and the next caller has the events folded again.
 */
export class SharedFold<State> implements Derived {
  readonly #cache: GenerationCache;
  readonly #fold: ProjectionFold<State>;
  #callers = 0;
  /** While it is there nothing else may step. */
  #turn: Promise<void> | undefined;

  /** @throws RepriseError `cursor_expired` when the log has lost its beginning */
  constructor(hub: Pick<Hub, "readHistory">, cache: GenerationCache, fold: Fold<State>) {
    this.#cache = cache;
    this.#fold = new ProjectionFold({ hub, cache }, fold);
  }

  /** Memory held, in bytes, about. */
  get bytes(): number {
    return this.#fold.bytes;
  }

  /**
   * Resolves when everything is folded that is settled by then.
   * @throws RepriseError `cursor_expired`, `broker_unavailable`, `generation_erased`
   */
  async settle(): Promise<Settled<State>> {
    this.#callers++;
    // The hub evicts a cache without listeners.
    const letGo = this.#cache.listen(() => {});
    try {
      while (!this.#step()) await this.#turn;
    } finally {
      letGo();
      this.#callers--;
    }
    const { state, run, seq } = this.#fold;
    const { isSettled, lastSeq, ended } = this.#cache;
    return { state, run, isOver: isSettled && seq === lastSeq, lastSeq: seq, log: { lastSeq, ended } };
  }

  trim(): void {
    if (this.#callers === 0) this.#fold.reset();
  }

  forget(): void {
    this.#fold.reset();
  }

  /** @returns whether everything is folded; otherwise there is a turn to wait for */
  #step(): boolean {
    if (this.#turn) return false;
    const step = this.#fold.step(SLICE_EVENTS);
    if (step === "settled") return true;
    const turn = step === "absent" ? this.#fold.stepHistory() : nextTurn();
    this.#turn = turn.finally(() => (this.#turn = undefined));
    return false;
  }
}
