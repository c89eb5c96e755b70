import { Semaphore } from "@reprise/async";
import type { TenantId } from "@reprise/protocol";

/** Bounds how much of each tenant's work is under way at once: what is under way takes memory. */
export class TenantQueues {
  readonly #most: number;
  readonly #queues = new Map<TenantId, { readonly semaphore: Semaphore; count: number }>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(tenant: TenantId, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(tenant) ?? { semaphore: new Semaphore(this.#most), count: 0 };
    this.#queues.set(tenant, queue);
    queue.count++;
    try {
      return await queue.semaphore.run(work);
    } finally {
      if (--queue.count === 0) this.#queues.delete(tenant);
    }
  }
}
