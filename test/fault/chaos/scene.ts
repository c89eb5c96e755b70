import { formatMs } from "../campaign/format-table.ts";
import type { Reader, Seen } from "../readers/reader-record.ts";
import type { Load } from "../trial/load.ts";
import { timeToEvent } from "../trial/recovery.ts";
import type { Trial } from "../trial/trial.ts";

/** What one strike works with. */
export interface Scene {
  readonly trial: Trial;
  readonly load: Load;
  readonly say: (text: string) => void;
}

/** Those who still read. */
export function readingNow({ readers }: Load): Reader[] {
  return readers.filter(({ record }) => !record.isDone);
}

/**
 * Waits until each of these readers has been shown an event after `since` that fits, or has got to the end of its generation.
 * @returns how long the slowest has waited, in words
 */
export async function waited(
  { trial }: Scene,
  readers: readonly Reader[],
  since: number,
  fits: (reader: Reader) => (seen: Seen) => boolean,
): Promise<string> {
  const times: number[] = [];
  for (const reader of readers) {
    const holds = fits(reader);
    await reader.record.until((record) => record.seen.some((seen) => seen.at > since && holds(seen)));
    const ms = timeToEvent(reader.record, since, holds);
    if (ms !== undefined) times.push(ms);
  }
  for (const ms of times) trial.recovered(ms);
  return times.length === 0 ? "no reader had to wait" : `the slowest waited ${formatMs(Math.max(...times))}`;
}

/** `1 reader`, `3 readers` */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
