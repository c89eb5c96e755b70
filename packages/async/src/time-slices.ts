import { setImmediate as turn } from "node:timers/promises";

/** After how many steps the clock is read. */
const STEPS = 64;
const SLICE_MS = 4;

/**
 * Cuts long work of one turn into slices, so that others of the process wait for one of them at most:
 * `for (…) { if (slices.isOver()) await slices.next(); … }`.
 */
export class TimeSlices {
  readonly #sliceMs: number;
  #endMs: number;
  #steps = 0;

  /** @param sliceMs default 4 */
  constructor(sliceMs = SLICE_MS) {
    this.#sliceMs = sliceMs;
    this.#endMs = performance.now() + sliceMs;
  }

  /** Called before each step, which is short. */
  isOver(): boolean {
    return this.#steps++ % STEPS === 0 && performance.now() >= this.#endMs;
  }

  /** Lets the others go first. */
  async next(): Promise<void> {
    await turn();
    this.#endMs = performance.now() + this.#sliceMs;
  }
}
