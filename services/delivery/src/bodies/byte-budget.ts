/** Part of a budget that is taken until it is given back; giving it back again does nothing. */
export interface Reservation {
  release(): void;
}

/**
 * Bytes that tenants share. A tenant may hold half as much as is free when it has got it: one alone a third of the whole, and n that
 * flood at once an n+2nd each. So two such parts are always free, and a tenant that holds nothing is refused only when there are more
 * that flood than fit. A fixed limit for each would either waste most of the budget on a quiet day or not hold on a busy one.
 */
export class ByteBudget {
  readonly #bytes: number;
  readonly #byTenant = new Map<string, number>();
  #held = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get held(): number {
    return this.#held;
  }

  /** @returns undefined when the tenant would hold more than its share */
  reserve(tenant: string, bytes: number): Reservation | undefined {
    const holds = (this.#byTenant.get(tenant) ?? 0) + bytes;
    if (2 * holds > this.#bytes - this.#held - bytes) return undefined;
    this.#held += bytes;
    this.#byTenant.set(tenant, holds);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#release(tenant, bytes);
      },
    };
  }

  #release(tenant: string, bytes: number): void {
    this.#held -= bytes;
    const holds = (this.#byTenant.get(tenant) ?? 0) - bytes;
    if (holds > 0) this.#byTenant.set(tenant, holds);
    else this.#byTenant.delete(tenant);
  }
}
