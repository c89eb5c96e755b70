import type { PresenceRecord } from "@reprise/log";

/** The least time between two announcements about one generation: what changes meanwhile is in the next one. */
export const MIN_INTERVAL_MS = 100;
/** An announcement is repeated so often within a lease that a lost one does no harm. */
const ANNOUNCEMENTS_PER_LEASE = 3;

/** How far the furthest reader has come, and what it may not be shown yet. */
type Progress = Pick<PresenceRecord, "seq" | "held">;

/** What this node has announced of its readers of one generation, and its state now. All times by one monotonic clock. */
export interface AnnouncementState {
  /** The last announcement that is known to be stored, and when it was sent; undefined when it is unknown what is stored. */
  readonly stored: (PresenceRecord & { readonly atMs: number }) | undefined;
  /** When an announcement was last sent, stored or not. */
  readonly sentAtMs: number;
  /** How many read now. */
  readonly readers: number;
  /** Whether a reader has come and gone since the last announcement. */
  readonly visited: boolean;
  /** Undefined where it is not announced as it changes. */
  readonly progress: Progress | undefined;
}

/** Whether an announcement is due: the first reader has come, the last has left, the furthest has moved, or the lease runs. */
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
