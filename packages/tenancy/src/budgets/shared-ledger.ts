import { RepriseError, unixNow } from "@reprise/protocol";
import type { RedisAccess } from "../redis/redis-access.ts";
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
} from "./budget-ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";

export interface SharedLedgerOptions {
  /** The ledger of all processes. */
  shared: BudgetLedger;
  /** Number of processes that share the rest of the accounts while it is unavailable, this one included. */
  processes: () => number;
  access: RedisAccess;
}

type Settlement = readonly [generation: string, uses: readonly Pick<BudgetClaim, "account" | "used">[]];

/** Last state that this process has seen of an account in the shared ledger. */
interface Seen {
  readonly remaining: number;
  readonly forgetAtMs: number;
}

/** Grants of this process alone: its share of the rest, and the use from which each generation counts. */
interface Alone {
  readonly share: number;
  readonly bases: Map<string, number>;
}

const SWEEP_ACCOUNTS = 1_000;
/** Settlements that wait for the ledger of all. Of one that is dropped, what its generation has not used is given back when its grant expires. */
const MAX_UNSENT = 10_000;
/** Units that a process may grant alone of a budget that admits all while the shared ledger is unavailable. */
const UNBOUNDED = 2 ** 52;
/** Generations whose last grants are remembered. */
const MAX_GRANTS = 100_000;

/**
 * A ledger that all processes share, with a defined behaviour in an outage: each process continues alone with its share of the account's rest when it last
 * asked. Earlier grants stay valid. A process that has never asked for an account has no share of it. For an account that admits on loss, each process grants
 * everything.
 */
export class SharedLedger implements BudgetLedger {
  readonly #options: SharedLedgerOptions;
  readonly #seen = new Map<string, Seen>();
  readonly #granted = new Map<string, number>();
  readonly #unsent: Settlement[] = [];
  #alone = new Map<string, Alone>();
  #local = new MemoryLedger();
  #sweepAtAccounts = SWEEP_ACCOUNTS;

  constructor(options: SharedLedgerOptions) {
    this.#options = options;
  }

  async reserve(generation: string, claims: readonly BudgetReservation[]): Promise<BudgetReserved> {
    const { shared, access } = this.#options;
    return access.ask(
      async () => {
        const reserved = await shared.reserve(generation, claims);
        this.#answered(generation, claims, reserved.grants);
        return reserved;
      },
      async () => {
        const bases = claims.map((claim) => this.#baseOf(generation, claim));
        const { grants, refused } = await this.#local.reserve(
          generation,
          claims.map((claim, i) => ({ ...this.#toLocal(claim, bases[i] ?? 0), need: claim.need })),
        );
        const account = claims.find(({ account: { key } }) => key === refused?.key)?.account;
        return { grants: toAlone(grants, bases), ...(account && { refused: account }) };
      },
    );
  }

  async claim(generation: string, claims: readonly BudgetClaim[]): Promise<readonly BudgetGrant[]> {
    const { shared, access } = this.#options;
    return access.ask(
      async () => {
        const grants = await shared.claim(generation, claims);
        this.#answered(generation, claims, grants);
        return grants;
      },
      async () => {
        const bases = claims.map((claim) => this.#baseOf(generation, claim));
        const local = claims.map((claim, i) => this.#toLocal(claim, bases[i] ?? 0));
        return toAlone(await this.#local.claim(generation, local), bases);
      },
    );
  }

  async settle(generation: string, uses: readonly Pick<BudgetClaim, "account" | "used">[]): Promise<void> {
    const { shared, access } = this.#options;
    await access.ask(
      async () => {
        await shared.settle(generation, uses);
        for (const { account } of uses) this.#granted.delete(nameOf(account, generation));
      },
      async () => {
        this.#unsent.push([generation, uses]);
        if (this.#unsent.length > MAX_UNSENT) this.#unsent.shift();
        const bases = uses.map((use) => this.#baseOf(generation, { ...use, want: 0 }));
        const local = uses.map((use, i) => this.#toLocal({ ...use, want: 0 }, bases[i] ?? 0));
        await this.#local.settle(generation, local);
      },
    );
  }

  async seed(seeds: readonly BudgetSeed[]): Promise<readonly BudgetSeeded[]> {
    const { shared, access } = this.#options;
    return access.ask(
      () => shared.seed(seeds),
      async () => {
        throw new RepriseError("budget_unavailable", "Redis does not answer: no budget was seeded.");
      },
    );
  }

  /** Tells the ledger of all what has ended while it was away. */
  async flush(): Promise<void> {
    while (this.#unsent.length > 0 && !this.#options.access.areCallsUnanswered) {
      const settlement = this.#unsent.shift();
      if (settlement) await this.settle(...settlement);
    }
  }

  #answered(generation: string, claims: readonly BudgetClaim[], grants: readonly BudgetGrant[]): void {
    if (this.#alone.size > 0) {
      this.#alone = new Map();
      this.#local = new MemoryLedger();
    }
    for (const [i, { account }] of claims.entries()) {
      const grant = grants[i];
      if (!grant) continue;
      const { key, endsAtMs = Number.POSITIVE_INFINITY } = account;
      this.#seen.set(key, { remaining: grant.remaining, forgetAtMs: endsAtMs + ACCOUNT_GRACE_MS });
      const name = nameOf(account, generation);
      this.#granted.delete(name);
      this.#granted.set(name, grant.granted);
    }
    for (const [name] of this.#granted) {
      if (this.#granted.size <= MAX_GRANTS) break;
      this.#granted.delete(name);
    }
    this.#sweep();
  }

  /** From where on a generation's use is taken from this process's share: what was granted before is in no share. */
  #baseOf(generation: string, { account, used }: BudgetClaim): number {
    let alone = this.#alone.get(account.key);
    if (!alone) {
      const { remaining = 0 } = this.#seen.get(account.key) ?? {};
      const share = account.admitsOnLoss
        ? UNBOUNDED
        : Math.floor(remaining / Math.max(1, this.#options.processes()));
      alone = { share, bases: new Map() };
      this.#alone.set(account.key, alone);
    }
    const base = alone.bases.get(generation) ?? this.#granted.get(nameOf(account, generation)) ?? used;
    alone.bases.set(generation, base);
    return base;
  }

  #toLocal({ account, used, want, least }: BudgetClaim, base: number): BudgetClaim {
    const limit = this.#alone.get(account.key)?.share ?? 0;
    return {
      account: { ...account, limit },
      used: Math.max(0, used - base),
      want: Math.max(0, used + want - Math.max(base, used)),
      ...(least !== undefined && { least }),
    };
  }

  #sweep(): void {
    if (this.#seen.size < this.#sweepAtAccounts) return;
    for (const [key, { forgetAtMs }] of this.#seen) if (forgetAtMs <= unixNow()) this.#seen.delete(key);
    this.#sweepAtAccounts = Math.max(SWEEP_ACCOUNTS, 2 * this.#seen.size);
  }
}

function nameOf({ key }: BudgetAccount, generation: string): string {
  return `${key} ${generation}`;
}

function toAlone(grants: readonly BudgetGrant[], bases: readonly number[]): readonly BudgetGrant[] {
  return grants.map(({ granted, remaining }, i) => ({
    granted: (bases[i] ?? 0) + granted,
    remaining,
    isAlone: true,
  }));
}
