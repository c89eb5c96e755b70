import type { TenantId } from "@reprise/protocol";

/** No more jobs are asked for of a tenant that holds so much of the memory: its parked ones leave room for the others'. */
const TENANT_PART = 0.5;

/**
 * Bytes of the requests that one process holds for the jobs it runs, of all models together. A bound on what is asked for, not on what
 * comes: it may be exceeded by what the queues of several models had under way at the same moment.
 */
export class JobMemory {
  readonly #maxBytes: number;
  readonly #waiting = new Set<() => void>();
  readonly #byTenant = new Map<TenantId, number>();
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

  /** True if a tenant uses less than its part. */
  hasRoomFor(tenant: TenantId): boolean {
    return (this.#byTenant.get(tenant) ?? 0) < this.#maxBytes * TENANT_PART;
  }

  hold(tenant: TenantId, bytes: number): void {
    this.#held += bytes;
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + bytes);
  }

  release(tenant: TenantId, bytes: number): void {
    this.#held -= bytes;
    const left = (this.#byTenant.get(tenant) ?? 0) - bytes;
    if (left > 0) this.#byTenant.set(tenant, left);
    else this.#byTenant.delete(tenant);
    for (const onFree of this.#waiting) onFree();
  }

  /** Calls back whenever a job has given its bytes back, of whichever model. Returns how to stop that. */
  onFree(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }
}
