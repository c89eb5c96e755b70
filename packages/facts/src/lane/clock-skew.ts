/**
 * Maximum difference of the clocks of a cluster's servers, in microseconds: each stream's messages have the time of its own leader, and another server may
 * lead it later.
 */
export const SKEW_US = 60_000_000;
