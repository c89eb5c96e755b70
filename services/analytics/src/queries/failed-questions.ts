import { pause } from "@reprise/async";

export interface FailedQuestionsOptions {
  /** Asks again. @returns whether there is an answer now, or never will be */
  readonly askAgain: (question: string) => Promise<boolean>;
  /** Called when all that failed can be answered. */
  readonly onAnswered: () => void;
  /** The first pause before questions are asked again; each further one is twice as long, five minutes at most. Default 15 s. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 15_000;
const MAX_PAUSE_MS = 300_000;
/** The newest ones: each is a reading of rows. */
const MOST = 16;

/**
 * Questions whose rows could not be read. Another question may read other files, so its answer shows nothing: each is asked again until it has one.
 */
export class FailedQuestions implements Disposable {
  readonly #options: FailedQuestionsOptions;
  readonly #questions = new Set<string>();
  readonly #closed = new AbortController();
  #isAsking = false;

  constructor(options: FailedQuestionsOptions) {
    this.#options = options;
  }

  failed(question: string): void {
    this.#questions.delete(question);
    this.#questions.add(question);
    const [oldest] = this.#questions;
    if (this.#questions.size > MOST && oldest !== undefined) this.#questions.delete(oldest);
    if (!this.#isAsking) void this.#askAgain();
  }

  answered(question: string): void {
    this.#questions.delete(question);
    if (this.#questions.size === 0) this.#options.onAnswered();
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
  }

  async #askAgain(): Promise<void> {
    const { askAgain, pauseMs = PAUSE_MS } = this.#options;
    const { signal } = this.#closed;
    this.#isAsking = true;
    for (let waitMs = pauseMs; this.#questions.size > 0; waitMs = Math.min(2 * waitMs, MAX_PAUSE_MS)) {
      await pause(waitMs, signal);
      // A copy: questions may fail meanwhile.
      for (const question of Array.from(this.#questions)) {
        if (signal.aborted) return;
        if (await askAgain(question)) this.answered(question);
      }
    }
    this.#isAsking = false;
  }
}
