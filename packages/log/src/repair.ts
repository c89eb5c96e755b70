import { type RepriseError, toRepriseError } from "@reprise/protocol";
import { HUB_FAILURE } from "./hub-failure.ts";
import type { Tail } from "./tail.ts";

export interface RepairOptions {
  tail: Tail;
  /** Reads the log until the tail has what is stored now. */
  refresh: () => Promise<void>;
  /** Called when the log can't be read, or does not close the gap, for a minute. */
  giveUp: (failure: RepriseError) => void;
}

const BUDGET_MS = 60_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/**
 * Brings one tail in line with its log. However often it is asked for, one repair runs at a time, and one more behind it if it
 * was asked for meanwhile. The replica that answers may not have the missing event yet, hence the retries.
 */
export class Repair {
  readonly #options: RepairOptions;
  #running = false;
  #again = false;

  constructor(options: RepairOptions) {
    this.#options = options;
  }

  /** Returns whether this began one. */
  request(): boolean {
    this.#again = true;
    if (this.#running) return false;
    this.#running = true;
    void this.#run();
    return true;
  }

  async #run(): Promise<void> {
    const { tail, refresh, giveUp } = this.#options;
    const deadline = Date.now() + BUDGET_MS;
    for (let tries = 0; (this.#again || tail.hasGap) && !tail.failure; tries++) {
      this.#again = false;
      try {
        await refresh();
      } catch (thrown) {
        const error = toRepriseError(thrown);
        if (!error.retryable || Date.now() > deadline) giveUp(error);
        this.#again = true;
      }
      if (tail.hasGap && Date.now() > deadline) giveUp(HUB_FAILURE.hole);
      if (tail.hasGap || this.#again) await pause(tries);
    }
    this.#running = false;
  }
}

function pause(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries)));
}
