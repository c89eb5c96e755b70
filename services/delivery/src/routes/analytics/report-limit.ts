import { type GenerationId, RepriseError } from "@reprise/protocol";

/** Reports of one generation in a window, at this node: readings that are over, of many readers. */
const MOST = 60;
const WINDOW_MS = 60_000;
/** Generations that are counted at a time; with more, the window begins again. */
const MOST_GENERATIONS = 100_000;

/** Bounds how many reports of one generation are recorded, as each is kept for good. */
export class ReportLimit {
  readonly #now: () => number;
  #counts = new Map<GenerationId, number>();
  #endMs = Number.NEGATIVE_INFINITY;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** @throws RepriseError `limit_exceeded` */
  count(generation: GenerationId): void {
    const now = this.#now();
    if (now >= this.#endMs || this.#counts.size >= MOST_GENERATIONS) {
      this.#counts = new Map();
      this.#endMs = now + WINDOW_MS;
    }
    const count = (this.#counts.get(generation) ?? 0) + 1;
    if (count > MOST) {
      const message = `A generation takes ${MOST} reports a minute.`;
      const retryAfterMs = Math.ceil(this.#endMs - now);
      throw new RepriseError("limit_exceeded", message, { param: "timings", retryAfterMs });
    }
    this.#counts.set(generation, count);
  }
}
