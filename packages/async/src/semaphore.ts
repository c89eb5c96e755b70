/** Lets this number of tasks run at once; the others wait for their turn, in the order in which they came. */
export class Semaphore {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws the signal's reason when that aborts before the task has a slot; the task is not begun then */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#most) this.#running++;
    else await this.#wait(signal);
    try {
      return await task();
    } finally {
      // The slot goes directly to the next in line, so that a task that comes now cannot overtake it.
      const next = this.#waiting.values().next().value;
      if (next) next();
      else this.#running--;
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(signal?.reason as Error);
      };
      const leave = () => {
        this.#waiting.delete(enter);
        signal?.removeEventListener("abort", giveUp);
      };
      this.#waiting.add(enter);
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }
}
