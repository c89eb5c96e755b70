import type { PresenceRecord } from "@reprise/log";

/** Words about one generation are at least so far apart: what changes meanwhile is in the next one. */
export const MIN_INTERVAL_MS = 100;
/** A word is repeated so often within a lease that one which is lost does no harm. */
const WORDS_PER_LEASE = 3;

/** What this node has said of its readers of one generation, and what there is to say. All times by one monotonic clock. */
export interface AnnouncementState {
  /** The last word that is known to be stored, and when it was sent; undefined when nobody knows what is stored. */
  readonly said: (PresenceRecord & { readonly atMs: number }) | undefined;
  /** When a word was last sent, stored or not. */
  readonly triedAtMs: number;
  /** How many read now. */
  readonly readers: number;
  /** Whether somebody has come and gone since the last word. */
  readonly visited: boolean;
  /** How far the furthest has come, and what it may not be shown yet, where that is to be said as it changes. */
  readonly place: Pick<PresenceRecord, "seq" | "held"> | undefined;
}

/** Whether it is time for a word: the first reader has come, the last has left, the furthest has moved, or the lease runs. */
export function isAnnouncementDue(
  wording: AnnouncementState,
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): boolean {
  const { said, triedAtMs, readers, visited, place } = wording;
  if (nowMs - triedAtMs < MIN_INTERVAL_MS) return false;
  if (!said || visited || said.readers > 0 !== readers > 0) return true;
  if (readers === 0) return false;
  if (nowMs - said.atMs >= leaseMs / WORDS_PER_LEASE) return true;
  return place !== undefined && !isSame(place, said);
}

function isSame(a: Pick<PresenceRecord, "seq" | "held">, b: Pick<PresenceRecord, "seq" | "held">): boolean {
  return a.seq === b.seq && a.held?.fromSeq === b.held?.fromSeq && a.held?.toSeq === b.held?.toSeq;
}
