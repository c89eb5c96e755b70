import { performance } from "node:perf_hooks";

/** Longer than work holds up the event loop: the process was stopped, or had no CPU. */
const STALL_MS = 1_000;
const TICK_MS = 250;
/** After a wait of this length the event loop has read everything that arrived while the process stood still. */
const DRAINED_MS = 5;
/** Limit of that work, in CPU time: a process that stood still may be starved, and takes seconds for it. */
const MOST_DRAINING_CPU_MS = 1_000;

/** The time for which the process did not run. */
export interface StalledTime {
  /** Estimates when a request that is read now arrived: when the process stopped, if it has just resumed. */
  arrivalAt(nowMs: number): number;
  /** For how many milliseconds of this span the process did not run. */
  within(fromMs: number, toMs: number): number;
}

/** The times of this thread so far. */
export interface ThreadTimes {
  /** The event loop waited for something to do. */
  readonly idleMs: number;
  readonly cpuMs: number;
}

export const NO_STALLS: StalledTime = { arrivalAt: (nowMs) => nowMs, within: () => 0 };

/**
 * Notices that the process was stopped (SIGSTOP, a frozen machine) or starved: clients have waited then, though no clock of a request
 * has run. Only the last stall is kept. All times are those of `performance.now()`.
 */
export class Stalls implements StalledTime, Disposable {
  readonly #timer = setInterval(() => this.look(performance.now()), TICK_MS).unref();
  #seenAtMs: number;
  #fromMs = 0;
  #untilMs = Number.NEGATIVE_INFINITY;
  /** When the last stall ended. Undefined after everything that arrived during it was read. */
  #resumed: ThreadTimes | undefined;
  readonly #readTimes: () => ThreadTimes;

  constructor(nowMs = performance.now(), readTimes = readThreadTimes) {
    this.#seenAtMs = nowMs;
    this.#readTimes = readTimes;
  }

  look(nowMs: number): void {
    if (nowMs - this.#seenAtMs > STALL_MS) {
      this.#fromMs = this.#seenAtMs;
      this.#untilMs = nowMs;
      this.#resumed = this.#readTimes();
    }
    this.#seenAtMs = nowMs;
  }

  arrivalAt(nowMs: number): number {
    this.look(nowMs);
    if (this.#resumed && this.#isDrainedSince(this.#resumed)) this.#resumed = undefined;
    return this.#resumed ? this.#fromMs : nowMs;
  }

  within(fromMs: number, toMs: number): number {
    return Math.max(0, Math.min(toMs, this.#untilMs) - Math.max(fromMs, this.#fromMs));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #isDrainedSince(resumed: ThreadTimes): boolean {
    const { idleMs, cpuMs } = this.#readTimes();
    return idleMs - resumed.idleMs >= DRAINED_MS || cpuMs - resumed.cpuMs >= MOST_DRAINING_CPU_MS;
  }
}

function readThreadTimes(): ThreadTimes {
  const { user, system } = process.threadCpuUsage();
  return { idleMs: performance.nodeTiming.idleTime, cpuMs: (user + system) / 1_000 };
}
