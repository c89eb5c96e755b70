interface Waiting<T> {
  readonly message: T;
  readonly owner: object | undefined;
  readonly onTaken: () => void;
}

/** Messages for one client, in the order in which they were put. Each is kept until the client takes the next one. */
export class Outbox<T> {
  readonly #waiting: Waiting<T>[] = [];
  #closed: { readonly error: unknown } | undefined;
  #onChange = () => {};

  /** Resolves when the client has taken the message, or is gone. */
  async put(message: T, owner?: object): Promise<void> {
    if (this.#closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ message, owner, onTaken: resolve });
    this.#onChange();
    await promise;
  }

  /** Drops an owner's messages that the client has not taken. */
  drop(owner: object): void {
    for (const one of this.#waiting.filter((waiting) => waiting.owner === owner)) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.onTaken();
    }
  }

  /** Ends the messages after those that were put, with an error if there is one. */
  close(error?: unknown): void {
    this.#closed ??= { error };
    this.#onChange();
  }

  /** Drops all messages, and those to come. */
  abandon(): void {
    this.close();
    for (const { onTaken } of this.#waiting.splice(0)) onTaken();
  }

  /** @param heartbeat what is sent if there has been nothing else for so long */
  async *take(heartbeatMs: number, heartbeat: () => T): AsyncGenerator<T> {
    for (;;) {
      const [first] = this.#waiting;
      if (first) {
        yield first.message;
        // The client is gone if it has been dropped meanwhile.
        if (this.#waiting[0] === first) this.#waiting.shift();
        first.onTaken();
      } else if (this.#closed) {
        if (this.#closed.error !== undefined) throw this.#closed.error;
        return;
      } else if (await this.#isIdle(heartbeatMs)) yield heartbeat();
    }
  }

  /** Resolves with true after that time, or with false at once if there is something to do. */
  async #isIdle(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(true), ms);
    this.#onChange = () => resolve(false);
    const isIdle = await promise;
    clearTimeout(timer);
    return isIdle;
  }
}
