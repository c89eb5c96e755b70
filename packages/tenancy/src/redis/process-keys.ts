import { BUDGET_PREFIX } from "../budgets/redis-ledger.ts";
import { KEY_PREFIX } from "../limits/redis-counters.ts";

/** Sorted sets of the processes that are there, by when each was heard of last. */
export const PROCESS_KEYS = { delivery: `${KEY_PREFIX}nodes`, worker: `${BUDGET_PREFIX}workers` } as const;
