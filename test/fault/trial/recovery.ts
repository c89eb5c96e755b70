import type { Reader, ReaderRecord, Seen } from "../readers/reader-record.ts";
import type { Trial } from "./trial.ts";

/** A silence that is shorter than this is no effect of a fault, in milliseconds. */
const NOTICEABLE_MS = 150;

/** From `since` until the reader was shown the first event that fits; undefined when none came. */
export function timeToEvent(
  record: ReaderRecord,
  since: number,
  fits: (seen: Seen) => boolean,
): number | undefined {
  const first = record.seen.find((seen) => seen.at > since && fits(seen));
  return first && first.at - since;
}

/** The same, for the first event of a connection that was made after this call. */
export function watchReconnect(record: ReaderRecord, since: number): () => number | undefined {
  const before = record.connections;
  return () => timeToEvent(record, since, ({ connection }) => connection > before);
}

/**
 * From `since` to the end of the longest silence after it; undefined for a reader that noticed nothing. For faults of which no
 * single event tells that they are over.
 */
function timeToEndOfSilence(record: ReaderRecord, since: number): number | undefined {
  let longest = NOTICEABLE_MS;
  let recovered: number | undefined;
  for (const [index, { at }] of record.seen.entries()) {
    const before = record.seen[index - 1];
    if (!before || at <= since || at - before.at <= longest) continue;
    longest = at - before.at;
    recovered = at - since;
  }
  return recovered;
}

/** Reports the silences that a fault has caused, one for each reader that noticed it. */
export function reportSilences(trial: Trial, readers: readonly Reader[], since: number): void {
  for (const { record } of readers) {
    const ms = timeToEndOfSilence(record, since);
    if (ms !== undefined) trial.recovered(ms);
  }
}
