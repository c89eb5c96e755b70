import type { BudgetAccount } from "./budget-account.ts";

/** A generation's claim on an account. All amounts are units of its budget. */
export interface BudgetClaim {
  readonly account: BudgetAccount;
  /** Total use of the generation so far. */
  readonly used: number;
  /** Further use that it wants before it asks again. */
  readonly want: number;
  /** The smallest slice that is of use to it: near the limit slices get smaller with the number of generations, down to this. Default `MIN_SLICE`. */
  readonly least?: number;
}

export interface BudgetGrant {
  /** Total use that the generation is granted before it asks again: `used` at least, though that may be above the limit already. */
  readonly granted: number;
  /** Rest of the account after everything used and granted, 0 at least. */
  readonly remaining: number;
  /** The ledger of all processes does not answer: it may have more left than this process alone may grant. */
  readonly isAlone?: true;
}

/** A claim that is refused as a whole where less than `need` is left. */
export interface BudgetReservation extends BudgetClaim {
  readonly need: number;
}

/** One grant for each claim, in their order. */
export interface BudgetReserved {
  readonly grants: readonly BudgetGrant[];
  readonly refused?: BudgetAccount;
}

/** Use of an account's ended generations, from a record other than the ledger. */
export interface BudgetSeed {
  readonly account: BudgetAccount;
  readonly ended: number;
}

/** Used amount of an account, before and after seeding. */
export interface BudgetSeeded {
  readonly before: number;
  readonly after: number;
}

/**
 * Keeps what tenants have used of their budgets. A generation is granted slices before it uses them, and what its model may make unseen as a whole, so the use of an account never exceeds its
 * limit by more than what generations used without a grant. A generation's use is told all in all, never as an increment: a call whose answer was lost is repeated.
 *
 * A grant that is not renewed for a minute counts as what was used of it, so a worker that dies keeps nothing. Implemented in this process and in Redis, with
 * the same answers.
 */
export interface BudgetLedger {
  /** Grants all claims, or none. @returns `refused`: the first account that has less left than its claim needs */
  reserve(generation: string, claims: readonly BudgetReservation[]): Promise<BudgetReserved>;
  /** Grants what is left of each claim, and renews it: never less than before, for that may be used meanwhile, but where nothing is wanted.  @returns one grant for each claim, in their order */
  claim(generation: string, claims: readonly BudgetClaim[]): Promise<readonly BudgetGrant[]>;
  /** The generation has ended, with this use: it is granted nothing more. The last of several counts. */
  settle(generation: string, uses: readonly Pick<BudgetClaim, "account" | "used">[]): Promise<void>;
  /**
   * For a ledger that has lost its data: raises what accounts have as used to what is named, together with what live generations have said. Never lowers it, so it may be called again.
   * @throws RepriseError `budget_unavailable`
   */
  seed(seeds: readonly BudgetSeed[]): Promise<readonly BudgetSeeded[]>;
}

/** Milliseconds that a grant is kept for its generation without renewal. */
export const GRANT_TTL_MS = 60_000;
/**
 * Milliseconds that a generation is remembered after it has ended or its grant has expired: until then it may still be settled, again or for the first time.
 */
export const ENTRY_TTL_MS = 2 * 3_600_000;
/** For how long an account outlives its period: for the generations that run at its end. */
export const ACCOUNT_GRACE_MS = 25 * 3_600_000;
/** Tokens of output that a generation is granted at a time. A worker that is cut off leaves at most this many unreported. */
export const FIRST_SLICE = 64;
/**
 * Tokens of output that are reserved of a model which may think without showing it, where the models file does not say how many it makes at most: what it
 * makes unseen is in no slice.
 */
export const UNSEEN_TOKENS = 4_096;
/** Tokens of the smallest slice near the limit. */
export const MIN_SLICE = 8;
