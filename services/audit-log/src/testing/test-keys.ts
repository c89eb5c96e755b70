/** Secrets of tests, which are public. */
export const MASTER_KEY = Buffer.alloc(32, 7);
export const SIGNING_SEED = Buffer.alloc(32, 9);
