import { unixNow } from "@reprise/protocol";
import type { BudgetAccount } from "./budget-account.ts";
import { ACCOUNT_GRACE_MS } from "./budget-ledger.ts";

export interface SeenAccount {
  /** Distinguishes a ledger that has kept its data from one that has lost it. */
  readonly epoch: string;
  /** Use of all generations. */
  readonly used: number;
}

interface Remembered extends SeenAccount {
  readonly forgetAtMs: number;
  /** Use that this process has reported for each generation, which is part of `used`. */
  readonly reported: Map<string, number>;
}

const SWEEP_ACCOUNTS = 1_000;
/** Limit of remembered generations: one that another process continues is never settled here. */
const MAX_GENERATIONS = 10_000;

/** Accounts as this process has seen them in a ledger that may lose its data. */
export class SeenAccounts {
  readonly #accounts = new Map<string, Remembered>();
  #sweepAtAccounts = SWEEP_ACCOUNTS;

  of(key: string, generation: string): SeenAccount & { readonly reported: number } {
    const { epoch = "", used = 0, reported } = this.#accounts.get(key) ?? {};
    return { epoch, used, reported: reported?.get(generation) ?? 0 };
  }

  saw({ key, endsAtMs = Number.POSITIVE_INFINITY }: BudgetAccount, { epoch, used }: SeenAccount): void {
    const reported = this.#accounts.get(key)?.reported ?? new Map<string, number>();
    this.#accounts.set(key, { epoch, used, reported, forgetAtMs: endsAtMs + ACCOUNT_GRACE_MS });
    this.#sweep();
  }

  reported(key: string, generation: string, used: number): void {
    const reported = this.#accounts.get(key)?.reported;
    if (!reported) return;
    reported.delete(generation);
    reported.set(generation, used);
    const [oldest] = reported.keys();
    if (reported.size > MAX_GENERATIONS && oldest !== undefined) reported.delete(oldest);
  }

  forget(key: string, generation: string): void {
    this.#accounts.get(key)?.reported.delete(generation);
  }

  #sweep(): void {
    if (this.#accounts.size < this.#sweepAtAccounts) return;
    for (const [key, { forgetAtMs }] of this.#accounts)
      if (forgetAtMs <= unixNow()) this.#accounts.delete(key);
    this.#sweepAtAccounts = Math.max(SWEEP_ACCOUNTS, 2 * this.#accounts.size);
  }
}
