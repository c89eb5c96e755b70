export interface RedisAccessOptions {
  /** Told once when Redis stops answering, and once when it answers again. */
  onAway: (error: unknown) => void;
  onBack: () => void;
  now?: () => number;
}

/** Callers of Redis: the calls of clients, and the process itself, which announces its presence. */
type Asking = "calls" | "process";

/** Milliseconds without calls to Redis after a failure: every call would wait for its time limit meanwhile. */
const REST_MS = 1_000;

/** State of Redis, and the behaviour of a call while it does not answer. */
export class RedisAccess {
  readonly #options: RedisAccessOptions;
  readonly #now: () => number;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  /** Callers without an answer to their last command. An answer to one does not clear the other: Redis may refuse a single command. */
  readonly #unanswered = new Set<Asking>();

  constructor(options: RedisAccessOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** True if this process continues alone. */
  get isAway(): boolean {
    return this.#unanswered.size > 0;
  }

  /** True if calls, and not only the process itself, have no answer. */
  get areCallsUnanswered(): boolean {
    return this.#unanswered.has("calls");
  }

  lost(asking: Asking, error: unknown): void {
    const { isAway } = this;
    this.#unanswered.add(asking);
    if (!isAway) this.#options.onAway(error);
  }

  found(asking: Asking): void {
    if (this.#unanswered.delete(asking) && !this.isAway) this.#options.onBack();
  }

  /** Asks Redis, and answers alone where that fails, and for a second after. */
  async ask<T>(shared: () => Promise<T>, alone: () => Promise<T>): Promise<T> {
    if (this.#now() < this.#restsUntilMs) return alone();
    try {
      const answer = await shared();
      this.found("calls");
      return answer;
    } catch (error) {
      this.#restsUntilMs = this.#now() + REST_MS;
      this.lost("calls", error);
      return alone();
    }
  }
}
