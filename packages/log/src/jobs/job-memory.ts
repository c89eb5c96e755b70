/**
 * Bytes of the requests that one process holds for the jobs it runs, of all models together. A bound on what is asked for, not on what
 * comes: it may be exceeded by what the queues of several models had under way at the same moment.
 */
export class JobMemory {
  readonly #maxBytes: number;
  readonly #waiting = new Set<() => void>();
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get held(): number {
    return this.#held;
  }

  get free(): number {
    return this.#maxBytes - this.#held;
  }

  hold(bytes: number): void {
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
    for (const onFree of this.#waiting) onFree();
  }

  /** Calls back whenever a job has given its bytes back, of whichever model. Returns how to stop that. */
  onFree(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }
}
