import type { ReaderRecord, Seen } from "../readers/reader-record.ts";

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

/**
 * From `since` to the end of the longest silence after it; undefined for a reader that noticed nothing. For faults of which no
 * single event tells that they are over.
 */
export function timeToEndOfSilence(record: ReaderRecord, since: number): number | undefined {
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
