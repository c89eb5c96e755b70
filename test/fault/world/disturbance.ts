/** When a part of the platform was last broken on purpose. What happens at it from then on in the same trial has its excuse. */
export class Disturbance {
  #lastAt = -Infinity;

  strike(): void {
    this.#lastAt = performance.now();
  }

  /** @param at by `performance.now()` */
  hasStruckSince(at: number): boolean {
    return this.#lastAt >= at;
  }
}
