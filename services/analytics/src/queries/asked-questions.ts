import type { Broker } from "@reprise/broker";
import { ANALYTICS_CANCEL_SUBJECT, RepriseError, takeQuestion } from "@reprise/protocol";

/** The questions that are answered or wait here, by the names that callers gave them: a caller that hangs up says so to all replicas. */
export class AskedQuestions implements Disposable {
  readonly #asked = new Map<string, AbortController>();
  readonly #subscription: { unsubscribe(): void };

  constructor(connection: Broker["main"], onError: (error: unknown) => void) {
    this.#subscription = connection.subscribe(ANALYTICS_CANCEL_SUBJECT, {
      callback: (error, msg) => {
        if (error) onError(error);
        else this.#cancel(msg.string());
      },
    });
  }

  /** @param answer is called with the request without its name, and with a signal that aborts when the caller hangs up */
  async answer<T>(sent: unknown, answer: (request: unknown, hungUp: AbortSignal) => Promise<T>): Promise<T> {
    const { question, request } = takeQuestion(sent);
    const controller = new AbortController();
    if (question === undefined) return answer(request, controller.signal);
    this.#asked.set(question, controller);
    try {
      return await answer(request, controller.signal);
    } finally {
      this.#asked.delete(question);
    }
  }

  [Symbol.dispose](): void {
    this.#subscription.unsubscribe();
  }

  #cancel(question: string): void {
    this.#asked
      .get(question)
      ?.abort(new RepriseError("analytics_unavailable", "The caller of this question has hung up."));
  }
}
