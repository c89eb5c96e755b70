import type { NodePresence } from "./presence-records.ts";

/** What decides since when nobody reads. All times by the broker's clock, in milliseconds since 1970. */
export interface Readership {
  /** Since when there is anything to read. */
  readonly createdAtMs: number;
  readonly nowMs: number;
  /** For how long a node's word that it has readers counts. */
  readonly leaseMs: number;
}

/**
 * Since when nobody has read a generation; undefined while somebody does. A node that has said that it has readers and has not
 * said so again for a lease is dead, or cut off: its readers left when the lease was over. Whoever asks, and however often, gets the
 * same answer, because it follows from what is stored and the broker's clock alone.
 */
export function abandonedSince(
  records: readonly Pick<NodePresence, "readers" | "atMs">[],
  { createdAtMs, nowMs, leaseMs }: Readership,
): number | undefined {
  const left = records.map(({ readers, atMs }) => (readers > 0 ? atMs + leaseMs : atMs));
  const since = Math.max(createdAtMs, ...left);
  return records.some(({ readers, atMs }) => readers > 0 && nowMs < atMs + leaseMs) ? undefined : since;
}
