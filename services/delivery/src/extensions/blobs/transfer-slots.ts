import { RepriseError } from "@reprise/protocol";

export interface TransferSlotsOptions {
  /** Uploads and downloads of blobs that this node carries at a time. */
  readonly max: number;
  readonly onRefused: () => void;
}

/** Range of the retry delay. Clients refused at the same moment come back spread over it. */
const RETRY_AFTER_MS = { least: 1_000, most: 5_000 } as const;

/**
 * Bounds what blobs take of a node's memory: each transfer holds a chunk or two, however large its blob and however slow its client. A tenant has a
 * third of the slots at most.
 */
export class TransferSlots {
  readonly #max: number;
  readonly #perTenant: number;
  readonly #onRefused: () => void;
  readonly #taken = new Map<string, number>();
  #used = 0;

  constructor({ max, onRefused }: TransferSlotsOptions) {
    this.#max = max;
    this.#perTenant = Math.max(1, Math.ceil(max / 3));
    this.#onRefused = onRefused;
  }

  get used(): number {
    return this.#used;
  }

  /** @throws RepriseError `overloaded` */
  take(tenant: string): Disposable {
    const taken = this.#taken.get(tenant) ?? 0;
    if (this.#used >= this.#max || taken >= this.#perTenant) {
      this.#onRefused();
      const { least, most } = RETRY_AFTER_MS;
      const message = "Too many blobs are being transferred with keys of this tenant, or at this node.";
      throw new RepriseError("overloaded", message, {
        retryAfterMs: least + Math.random() * (most - least),
      });
    }
    this.#used++;
    this.#taken.set(tenant, taken + 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#used--;
        const left = (this.#taken.get(tenant) ?? 1) - 1;
        if (left > 0) this.#taken.set(tenant, left);
        else this.#taken.delete(tenant);
      },
    };
  }
}
