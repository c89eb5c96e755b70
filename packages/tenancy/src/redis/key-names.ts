/** Begins all keys. */
export const KEY_PREFIX = "reprise:";
/** Begins the keys of all budget accounts. */
export const BUDGET_PREFIX = `${KEY_PREFIX}budget:`;

/** Sorted sets of the running processes, by when each was heard of last. */
export const PROCESS_KEYS = { delivery: `${KEY_PREFIX}nodes`, worker: `${BUDGET_PREFIX}workers` } as const;
