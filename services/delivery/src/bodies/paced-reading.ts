import type { IncomingMessage } from "node:http";

/** Above this size a body is read, checked and written apart from the small ones, which never wait for it. */
export const LARGE_BYTES = 64 * 1_024;

/** Calls back later. */
type Rest = (next: () => void) => void;

/**
 * Reads large bodies in turn, a chunk of at most 64 KB at a time, with a rest between two chunks. Without it the event loop would read all
 * that has arrived on all connections before anything else: megabytes for each of them.
 */
export class PacedReading {
  readonly #rest: Rest;
  readonly #waiting = new Set<IncomingMessage>();
  #isResting = false;

  constructor(rest: Rest) {
    this.#rest = rest;
  }

  /** The body is read at this pace from now on; its reader begins by resuming it. */
  add(request: IncomingMessage): void {
    // Or else it would begin to flow with this listener.
    request.pause();
    request.on("data", () => this.#wait(request));
    request.once("close", () => this.#waiting.delete(request));
  }

  #wait(request: IncomingMessage): void {
    request.pause();
    this.#waiting.add(request);
    this.#resumeNext();
  }

  #resumeNext(): void {
    const [next] = this.#waiting;
    if (!next || this.#isResting) return;
    this.#waiting.delete(next);
    this.#isResting = true;
    next.resume();
    this.#rest(() => {
      this.#isResting = false;
      this.#resumeNext();
    });
  }
}
