import { Semaphore } from "./semaphore.ts";

/** Bounds how much of each owner's work is under way at once: what is under way takes memory. */
export class OwnerQueues {
  readonly #most: number;
  readonly #queues = new Map<string, { readonly semaphore: Semaphore; count: number }>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(owner) ?? { semaphore: new Semaphore(this.#most), count: 0 };
    this.#queues.set(owner, queue);
    queue.count++;
    try {
      return await queue.semaphore.run(work);
    } finally {
      if (--queue.count === 0) this.#queues.delete(owner);
    }
  }
}
