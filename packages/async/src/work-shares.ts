import { setImmediate as nextLoop } from "node:timers/promises";
import { pause } from "./pause.ts";

export interface WorkSharesOptions {
  /** Work that each owner gets in a second, while it wants more. */
  readonly stepsPerSecond: number;
  /** Work that an owner may do at once after a pause. */
  readonly burst: number;
  /** The most work that is done before others have a turn. */
  readonly slice: number;
  /** Default: this process's clock, in milliseconds. */
  readonly now?: () => number;
  /** Default: waits for this number of milliseconds. */
  readonly wait?: (ms: number) => Promise<void>;
}

interface Account {
  left: number;
  atMs: number;
  /** Work done since the event loop last ran others. */
  inSlice: number;
  waiting: number;
  /** Resolves when the turns before the next one are over. */
  last: Promise<void>;
}

/**
 * Shares the event loop among owners. Work is counted in steps. An owner that has used its share of this second waits; the others continue.
 * Work of one owner runs in order.
 */
export class WorkShares {
  readonly #options: Required<WorkSharesOptions>;
  readonly #accounts = new Map<string, Account>();

  constructor({ now = () => performance.now(), wait = pause, ...options }: WorkSharesOptions) {
    this.#options = { now, wait, ...options };
  }

  get slice(): number {
    return this.#options.slice;
  }

  /** True if an owner has used up its share, or has work that waits for it. */
  isSpent(owner: string): boolean {
    const account = this.#accounts.get(owner);
    return account !== undefined && (account.waiting > 0 || this.#refill(account) <= 0);
  }

  spend(owner: string, steps: number): void {
    const account = this.#accountOf(owner);
    this.#refill(account);
    account.left -= steps;
    account.inSlice += steps;
  }

  /** Waits after the owner's earlier work until it has something left of its share and of its slice. */
  async turn(owner: string): Promise<void> {
    const account = this.#accountOf(owner);
    account.waiting++;
    const mine = account.last.then(() => this.#untilAllowed(account));
    account.last = mine;
    await mine;
    account.waiting--;
  }

  /** Takes work to its end that yields the steps it has taken since it last did. Nothing is waited for within a slice and a share. */
  async run<T>(owner: string, work: Generator<number, T>): Promise<T> {
    for (;;) {
      if (this.#accountOf(owner).inSlice >= this.#options.slice || this.isSpent(owner))
        await this.turn(owner);
      const result = work.next();
      if (result.done) return result.value;
      this.spend(owner, result.value);
    }
  }

  /**
   * The event loop runs others once for each slice, not for each piece of work that waits: a turn of a busy loop takes 50 ms, so an owner with
   * small pieces would never get its share.
   */
  async #untilAllowed(account: Account): Promise<void> {
    const { slice, stepsPerSecond, wait } = this.#options;
    if (account.inSlice >= slice) {
      await nextLoop();
      account.inSlice = 0;
    }
    for (let left = this.#refill(account); left <= 0; left = this.#refill(account)) {
      await wait(Math.ceil((1 - left) / (stepsPerSecond / 1_000)));
      account.inSlice = 0;
    }
  }

  #refill(account: Account): number {
    const { now, stepsPerSecond, burst } = this.#options;
    const atMs = now();
    account.left = Math.min(burst, account.left + ((atMs - account.atMs) / 1_000) * stepsPerSecond);
    account.atMs = atMs;
    return account.left;
  }

  #accountOf(owner: string): Account {
    const known = this.#accounts.get(owner);
    if (known) return known;
    if (this.#accounts.size >= MANY_ACCOUNTS) this.#forgetIdle();
    const { now, burst } = this.#options;
    const account = { left: burst, atMs: now(), inSlice: 0, waiting: 0, last: Promise.resolve() };
    this.#accounts.set(owner, account);
    return account;
  }

  #forgetIdle(): void {
    for (const [owner, account] of this.#accounts)
      if (account.waiting === 0 && this.#refill(account) >= this.#options.burst) this.#accounts.delete(owner);
  }
}

const MANY_ACCOUNTS = 1_024;
