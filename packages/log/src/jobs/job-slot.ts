import type { PullCredit } from "./pull-credit.ts";

/** The most jobs of one model that a process holds without a slot; beyond that, one that would be parked keeps its slot. */
const MAX_PARKED = 10_000;

/** The slots of one queue, and who waits for one. */
export class JobSlots {
  readonly #credit: PullCredit;
  readonly #onFree: () => void;
  readonly #waiting: (() => void)[] = [];
  parked = 0;

  /** @param onFree called when there is a free slot and no job of this process waits for one */
  constructor(credit: PullCredit, onFree: () => void) {
    this.#credit = credit;
    this.#onFree = onFree;
  }

  /** A job of this size has come. Returns its slot, or undefined when there is none. */
  take(bytes = 0): JobSlot | undefined {
    return this.#credit.take(bytes) ? new JobSlot(this) : undefined;
  }

  get isCrowded(): boolean {
    return this.parked >= MAX_PARKED;
  }

  free(): void {
    this.#credit.release();
    if (this.#waiting.length > 0 && this.#credit.occupy()) this.#waiting.shift()!();
    else this.#onFree();
  }

  /** Resolves with a slot, before any job that is still to come gets one; or without one when the signal is aborted. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#waiting.length === 0 && this.#credit.occupy()) return true;
    return new Promise((resolve) => {
      const got = () => {
        signal.removeEventListener("abort", gaveUp);
        resolve(true);
      };
      const gaveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(got), 1);
        resolve(false);
      };
      this.#waiting.push(got);
      signal.addEventListener("abort", gaveUp, { once: true });
    });
  }
}

/** The slot of one running job, which may be without it for a while. */
export class JobSlot {
  readonly #slots: JobSlots;
  #held = true;
  #ended = false;

  constructor(slots: JobSlots) {
    this.#slots = slots;
  }

  park(): void {
    if (!this.#held || this.#slots.isCrowded) return;
    this.#held = false;
    this.#slots.parked++;
    this.#slots.free();
  }

  async unpark(signal: AbortSignal): Promise<void> {
    if (this.#held || this.#ended || !(await this.#slots.wait(signal))) return;
    this.#held = true;
    this.#slots.parked--;
  }

  /** The job has ended. */
  end(): void {
    if (this.#held) this.#slots.free();
    else this.#slots.parked--;
    this.#ended = true;
  }
}
