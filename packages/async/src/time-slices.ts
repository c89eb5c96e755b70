import { setImmediate as turn } from "node:timers/promises";

const STEPS = 64;
const SLICE_MS = 4;

/**
 * Cuts long work of one turn into slices, so that others of the process wait for one of them at most:
 * `for (…) { if (slices.isOver()) await slices.next(); … }`.
 */
export class TimeSlices {
  readonly #sliceMs: number;
  readonly #clockEvery: number;
  #endMs: number;
  #steps = 0;

  /**
   * @param sliceMs default 4
   * @param clockEvery after how many steps the clock is read: fewer where a step is long. Default 64
   */
  constructor(sliceMs = SLICE_MS, clockEvery = STEPS) {
    this.#sliceMs = sliceMs;
    this.#clockEvery = clockEvery;
    this.#endMs = performance.now() + sliceMs;
  }

  /** Called before each step. */
  isOver(): boolean {
    return this.#steps++ % this.#clockEvery === 0 && performance.now() >= this.#endMs;
  }

  /** Lets the others go first. */
  async next(): Promise<void> {
    await turn();
    this.#endMs = performance.now() + this.#sliceMs;
  }
}
