interface Candidate {
  readonly key: string;
  readonly cache: { readonly bytes: number; trim(maxBytes: number): void };
  /** True if the cache has readers, or is about to have one. */
  readonly inUse: boolean;
  readonly idleSince: number;
}

export interface Eviction<T extends Candidate> {
  readonly key: string;
  readonly cache: T["cache"];
  /** Bytes of the cache that may stay; 0 to drop it entirely. */
  readonly keepBytes: number;
}

/** Minimum bytes that a cache with readers keeps: enough for readers that keep up. */
const KEPT_FOR_READERS = 64 * 1_024;

/**
 * Plans the evictions that make all caches together fit into the budget: first whole caches that are not in use, the longest unused first; then the
 * oldest events of the largest caches in use, whose readers read them from the log if they still need them.
 */
export function planEviction<T extends Candidate>(tails: readonly T[], maxBytes: number): Eviction<T>[] {
  let excess = tails.reduce((sum, { cache }) => sum + cache.bytes, 0) - maxBytes;
  if (excess <= 0) return [];
  const trims: Eviction<T>[] = [];
  const idle = tails.filter(({ inUse }) => !inUse).toSorted((a, b) => a.idleSince - b.idleSince);
  const read = tails.filter(({ inUse }) => inUse).toSorted((a, b) => b.cache.bytes - a.cache.bytes);
  for (const { key, cache } of idle) {
    if (excess <= 0) return trims;
    trims.push({ key, cache, keepBytes: 0 });
    excess -= cache.bytes;
  }
  for (const { key, cache } of read) {
    const gain = cache.bytes - KEPT_FOR_READERS;
    if (excess <= 0 || gain <= 0) return trims;
    trims.push({ key, cache, keepBytes: KEPT_FOR_READERS });
    excess -= gain;
  }
  return trims;
}
