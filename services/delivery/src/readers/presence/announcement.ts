import type { PresenceRecord } from "@reprise/jobs";

/** The least time between two announcements about one generation: what changes meanwhile is in the next one. */
export const MIN_INTERVAL_MS = 100;
/** An announcement is repeated so often within a lease that a lost one does no harm. */
const ANNOUNCEMENTS_PER_LEASE = 3;

/** Position of the furthest reader, and text that it may not be shown yet. */
type Progress = Pick<PresenceRecord, "seq" | "held">;

/** Last announcement of this node's readers of one generation, and their present state. All times by one monotonic clock. */
export interface AnnouncementState {
  /** The last announcement that is known to be stored, and when it was sent; undefined when it is unknown what is stored. */
  readonly stored: (PresenceRecord & { readonly atMs: number }) | undefined;
  /** When an announcement was last sent, stored or not. */
  readonly sentAtMs: number;
  /** Number of readers now. */
  readonly readers: number;
  /** True if a reader has come and gone since the last announcement. */
  readonly visited: boolean;
  /** Undefined where it is not announced as it changes. */
  readonly progress: Progress | undefined;
}

/** Returns true if an announcement is due: the first reader has come, the last has left, the furthest has moved, or the lease must be renewed. */
export function isAnnouncementDue(
  { stored, sentAtMs, readers, visited, progress }: AnnouncementState,
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): boolean {
  if (nowMs - sentAtMs < MIN_INTERVAL_MS) return false;
  if (!stored || visited || stored.readers > 0 !== readers > 0) return true;
  if (readers === 0) return false;
  if (nowMs - stored.atMs >= leaseMs / ANNOUNCEMENTS_PER_LEASE) return true;
  return progress !== undefined && !isSame(progress, stored);
}

function isSame(a: Progress, b: Progress): boolean {
  return a.seq === b.seq && a.held?.fromSeq === b.held?.fromSeq && a.held?.toSeq === b.held?.toSeq;
}
