import type { Seq } from "@reprise/protocol";

/** After this many gaps without an event, the next event is late enough to ask for it. */
const GAPS = 3;
const MAX_WAIT_MS = 10_000;
/** Weight of the newest gap among the earlier ones. */
const WEIGHT = 0.25;

/**
 * Schedules when a silent generation is compared with its log: the last event of the live feed has no successor that would reveal its loss. The wait
 * follows the generation's own pace, so that a slow generation is not asked about between any two of its events: three times the recent gap between
 * events, at least `leastMs` and at most 10 s. Every probe doubles the wait, up to 10 s; every event resets it.
 */
export class ProbeSchedule<Place = Seq> {
  readonly #leastMs: number;
  #lastSeq: Place;
  #progressAt: number;
  /** A moving average; undefined until there are two events to lie between. */
  #gapMs: number | undefined;
  #waitMs: number;
  #dueAt: number;

  constructor(leastMs: number, lastSeq: Place, now: number) {
    this.#leastMs = leastMs;
    this.#lastSeq = lastSeq;
    this.#progressAt = now;
    this.#waitMs = leastMs;
    this.#dueAt = now + leastMs;
  }

  get dueAt(): number {
    return this.#dueAt;
  }

  /** Tells how far the generation has come; without a new event nothing changes. */
  observe(lastSeq: Place, now: number): void {
    if (lastSeq === this.#lastSeq) return;
    const gap = Math.min(MAX_WAIT_MS, now - this.#progressAt);
    this.#gapMs = this.#gapMs === undefined ? gap : this.#gapMs + (gap - this.#gapMs) * WEIGHT;
    this.#lastSeq = lastSeq;
    this.#progressAt = now;
    this.#wait(this.#gapMs * GAPS, now);
  }

  /** Tells that the log has been asked. */
  probed(now: number): void {
    this.#wait(this.#waitMs * 2, now);
  }

  #wait(ms: number, now: number): void {
    this.#waitMs = Math.max(this.#leastMs, Math.min(MAX_WAIT_MS, ms));
    this.#dueAt = now + this.#waitMs;
  }
}

/** Probes of a node per second, at most, for all its generations together: 2,000 silent ones each get one every 10 s. */
const PROBES_PER_SECOND = 200;

/** Which of the candidates to probe now, those that are due for the longest first, if the question is put every `everyMs`. */
export function dueForProbe<T extends { readonly pace: Pick<ProbeSchedule, "dueAt"> }>(
  candidates: Iterable<T>,
  now: number,
  everyMs: number,
): T[] {
  return [...candidates]
    .filter(({ pace }) => pace.dueAt <= now)
    .toSorted((a, b) => a.pace.dueAt - b.pace.dueAt)
    .slice(0, Math.ceil((PROBES_PER_SECOND * everyMs) / 1_000));
}
