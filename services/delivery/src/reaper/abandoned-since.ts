import { type UnixMs, plusMs } from "@reprise/protocol";

/** Input for deciding since when a generation has no readers. All times by the broker's clock. */
interface Readership {
  /** Since when there is anything to read. */
  readonly createdAtMs: UnixMs;
  readonly nowMs: UnixMs;
  /** For how long a presence record with readers counts. */
  readonly leaseMs: number;
}

/**
 * Since when a generation has had no readers; undefined while it has some. A node that has announced readers and has not
 * announced them again for a lease is dead, or cut off: its readers left when the lease was over. Every process gets the same answer,
 * however often it asks, because the answer follows from what is stored and the broker's clock alone.
 */
export function abandonedSince(
  records: readonly { readonly readers: number; readonly atMs: UnixMs }[],
  { createdAtMs, nowMs, leaseMs }: Readership,
): UnixMs | undefined {
  const left = records.map(({ readers, atMs }) => (readers > 0 ? plusMs(atMs, leaseMs) : atMs));
  const since = Math.max(createdAtMs, ...left);
  return records.some(({ readers, atMs }) => readers > 0 && nowMs < atMs + leaseMs) ? undefined : since;
}
