import { randomUUID } from "node:crypto";
import type { Redis, Result } from "ioredis";
import { BUDGET_PREFIX } from "../redis/key-names.ts";
import type { BudgetAccount } from "./budget-account.ts";
import {
  type BudgetClaim,
  type BudgetGrant,
  type BudgetLedger,
  type BudgetReservation,
  type BudgetReserved,
  type BudgetSeed,
  type BudgetSeeded,
  MIN_SLICE,
} from "./budget-ledger.ts";
import { CLAIM_SCRIPT, SEED_SCRIPT, SETTLE_SCRIPT } from "./ledger-scripts.ts";
import { SeenAccounts } from "./seen-accounts.ts";

declare module "ioredis" {
  interface RedisCommander<Context> {
    repriseBudgetClaim(
      keyCount: number,
      ...keysAndArguments: (string | number)[]
    ): Result<(string | number)[], Context>;
    repriseBudgetSettle(
      keyCount: number,
      ...keysAndArguments: (string | number)[]
    ): Result<string[], Context>;
    repriseBudgetSeed(keyCount: number, ...keysAndArguments: (string | number)[]): Result<string[], Context>;
  }
}

const FIELDS = 4;
/** The id of none: they have at least one character. */
const NO_GENERATION = "";

/**
 * The ledger of all processes. Each call is one round trip. Rejects when Redis does not answer as the connection's settings demand. A Redis that has lost its data is told
 * what this process has seen of an account with the next call for it, so what is forgotten is what no process that still runs has seen.
 */
export class RedisLedger implements BudgetLedger {
  readonly #redis: Redis;
  readonly #now: () => number | "";
  readonly #seen = new SeenAccounts();

  /** @param now wall-clock milliseconds, for tests; Redis keeps the time otherwise */
  constructor(redis: Redis, { now }: { now?: () => number } = {}) {
    this.#redis = redis;
    this.#now = now ?? (() => "");
    redis.defineCommand("repriseBudgetClaim", { lua: CLAIM_SCRIPT });
    redis.defineCommand("repriseBudgetSettle", { lua: SETTLE_SCRIPT });
    redis.defineCommand("repriseBudgetSeed", { lua: SEED_SCRIPT });
  }

  async reserve(generation: string, claims: readonly BudgetReservation[]): Promise<BudgetReserved> {
    return this.#claim(generation, claims);
  }

  async claim(generation: string, claims: readonly BudgetClaim[]): Promise<readonly BudgetGrant[]> {
    const { grants } = await this.#claim(
      generation,
      claims.map((claim) => ({ ...claim, need: 0 })),
    );
    return grants;
  }

  async settle(generation: string, uses: readonly Pick<BudgetClaim, "account" | "used">[]): Promise<void> {
    if (uses.length === 0) return;
    const claims = uses.map((use) => ({ ...use, want: 0, need: 0 }));
    const values = await this.#redis.repriseBudgetSettle(...this.#argumentsOf(generation, claims));
    for (const [i, { account }] of uses.entries()) {
      this.#seen.saw(account, { epoch: String(values[2 * i]), used: Number(values[2 * i + 1]) });
      this.#seen.forget(account.key, generation);
    }
  }

  async seed(seeds: readonly BudgetSeed[]): Promise<readonly BudgetSeeded[]> {
    if (seeds.length === 0) return [];
    const claims = seeds.map(({ account, ended }) => ({ account, used: ended, want: 0, need: 0 }));
    const values = await this.#redis.repriseBudgetSeed(...this.#argumentsOf(NO_GENERATION, claims));
    return seeds.map((_, i) => ({ before: Number(values[2 * i]), after: Number(values[2 * i + 1]) }));
  }

  async #claim(generation: string, claims: readonly BudgetReservation[]): Promise<BudgetReserved> {
    if (claims.length === 0) return { grants: [] };
    const [refused = 0, ...fields] = await this.#redis.repriseBudgetClaim(
      ...this.#argumentsOf(generation, claims),
    );
    const grants = claims.map(({ account, used }, i): BudgetGrant => {
      const [epoch, usedOfAll, granted, remaining] = fields.slice(i * FIELDS, (i + 1) * FIELDS);
      this.#seen.saw(account, { epoch: String(epoch), used: Number(usedOfAll) });
      if (refused === 0) this.#seen.reported(account.key, generation, used);
      return { granted: Number(granted), remaining: Number(remaining) };
    });
    const account = claims[Number(refused) - 1]?.account;
    return { grants, ...(account && { refused: account }) };
  }

  #argumentsOf(generation: string, claims: readonly BudgetReservation[]): [number, ...(string | number)[]] {
    return [
      2 * claims.length,
      ...claims.flatMap(({ account }) => keysOf(account)),
      this.#now(),
      // Another one each time: a process that gave an account its epoch must see that the account was lost.
      randomUUID(),
      generation,
      ...claims.flatMap(({ account, used, want, need, least = MIN_SLICE }) => {
        const seen = this.#seen.of(account.key, generation);
        const { key: _, endsAtMs = "", limit } = account;
        return [endsAtMs, seen.epoch, seen.used, seen.reported, limit, used, want, need, least];
      }),
    ];
  }
}

function keysOf({ key }: BudgetAccount): readonly [string, string] {
  return [`${BUDGET_PREFIX}${key}`, `${BUDGET_PREFIX}${key}.generations`];
}
