import { unixNow } from "@reprise/protocol";
import type { BudgetAccount } from "./budget-account.ts";
import {
  ACCOUNT_GRACE_MS,
  type BudgetClaim,
  type BudgetGrant,
  type BudgetLedger,
  type BudgetReservation,
  type BudgetReserved,
  type BudgetSeed,
  type BudgetSeeded,
  ENTRY_TTL_MS,
  GRANT_TTL_MS,
  MIN_SLICE,
} from "./budget-ledger.ts";

interface Live {
  readonly used: number;
  readonly granted: number;
  readonly expiresAtMs: number;
}

/** A generation that has ended, or has let its grant expire. */
interface Past {
  readonly used: number;
  readonly isSettled: boolean;
  readonly forgetAtMs: number;
}

/** Both maps are in the order in which their entries expire. */
interface Account {
  used: number;
  /** Units granted to live generations beyond their use. */
  held: number;
  readonly live: Map<string, Live>;
  readonly past: Map<string, Past>;
  readonly forgetAtMs: number;
}

/** Number of accounts from which on those whose period is long over are removed. */
const SWEEP_ACCOUNTS = 1_000;

/** The ledger of this process alone; it starts with nothing used. Its memory is bounded by the generations of two hours. */
export class MemoryLedger implements BudgetLedger {
  readonly #now: () => number;
  readonly #accounts = new Map<string, Account>();
  #sweepAtAccounts = SWEEP_ACCOUNTS;

  /** @param now wall-clock milliseconds */
  constructor(now: () => number = unixNow) {
    this.#now = now;
  }

  async reserve(generation: string, claims: readonly BudgetReservation[]): Promise<BudgetReserved> {
    const refused = claims.find(({ account, need }) => {
      const kept = this.#accountOf(account);
      return account.limit - kept.used - kept.held + heldBy(kept.live.get(generation)) < need;
    });
    if (!refused) return { grants: claims.map((claim) => this.#claim(generation, claim)) };
    const grants = claims.map(({ account, used }) => ({ granted: used, remaining: this.#leftOf(account) }));
    return { grants, refused: refused.account };
  }

  async claim(generation: string, claims: readonly BudgetClaim[]): Promise<readonly BudgetGrant[]> {
    return claims.map((claim) => this.#claim(generation, { ...claim, need: 0 }));
  }

  async settle(generation: string, uses: readonly Pick<BudgetClaim, "account" | "used">[]): Promise<void> {
    for (const { account, used } of uses) {
      const kept = this.#accountOf(account);
      kept.used += used - takeOut(kept, generation);
      kept.past.set(generation, { used, isSettled: true, forgetAtMs: this.#now() + ENTRY_TTL_MS });
    }
  }

  async seed(seeds: readonly BudgetSeed[]): Promise<readonly BudgetSeeded[]> {
    return seeds.map(({ account, ended }) => {
      const kept = this.#accountOf(account);
      const before = kept.used;
      const live = [...kept.live.values()].reduce((sum, { used }) => sum + used, 0);
      kept.used = Math.max(before, ended + live);
      return { before, after: kept.used };
    });
  }

  #claim(generation: string, claim: BudgetReservation): BudgetGrant {
    const { account, used: said, want, need, least = MIN_SLICE } = claim;
    const kept = this.#accountOf(account);
    const left = () => this.#leftOf(account);
    if (kept.past.get(generation)?.isSettled) return { granted: said, remaining: left() };
    const { granted: promised = 0 } = kept.live.get(generation) ?? {};
    const before = takeOut(kept, generation);
    const used = Math.max(before, said);
    kept.used += used - before;
    const fair = Math.max(least, need, Math.floor(left() / (kept.live.size + 1)));
    const sliced = used + Math.min(want, fair, left());
    // While it asks, the generation continues with its earlier grant.
    const granted = want > 0 ? Math.max(sliced, promised) : sliced;
    kept.live.set(generation, { used, granted, expiresAtMs: this.#now() + GRANT_TTL_MS });
    kept.held += granted - used;
    return { granted, remaining: left() };
  }

  #leftOf(account: BudgetAccount): number {
    const { used, held } = this.#accountOf(account);
    return Math.max(0, account.limit - used - held);
  }

  /** The account as it is now: grants that have expired are given back. */
  #accountOf({ key, endsAtMs = Number.POSITIVE_INFINITY }: BudgetAccount): Account {
    const nowMs = this.#now();
    const account = this.#accounts.get(key);
    if (account) {
      expire(account, nowMs);
      return account;
    }
    this.#sweep(nowMs);
    const opened: Account = {
      used: 0,
      held: 0,
      live: new Map(),
      past: new Map(),
      forgetAtMs: endsAtMs + ACCOUNT_GRACE_MS,
    };
    this.#accounts.set(key, opened);
    return opened;
  }

  #sweep(nowMs: number): void {
    if (this.#accounts.size < this.#sweepAtAccounts) return;
    for (const [key, { forgetAtMs }] of this.#accounts) if (forgetAtMs <= nowMs) this.#accounts.delete(key);
    this.#sweepAtAccounts = Math.max(SWEEP_ACCOUNTS, 2 * this.#accounts.size);
  }
}

function expire(account: Account, nowMs: number): void {
  for (const [generation, { used, expiresAtMs }] of account.live) {
    if (expiresAtMs > nowMs) break;
    takeOut(account, generation);
    account.past.set(generation, { used, isSettled: false, forgetAtMs: nowMs + ENTRY_TTL_MS });
  }
  for (const [generation, { forgetAtMs }] of account.past) {
    if (forgetAtMs > nowMs) break;
    account.past.delete(generation);
  }
}

/** Takes a generation out of those that are live or past. @returns what it has used, which stays in the account */
function takeOut(account: Account, generation: string): number {
  const live = account.live.get(generation);
  const past = account.past.get(generation);
  account.live.delete(generation);
  account.past.delete(generation);
  account.held -= heldBy(live);
  return live?.used ?? past?.used ?? 0;
}

function heldBy(live: Live | undefined): number {
  return live ? live.granted - live.used : 0;
}
