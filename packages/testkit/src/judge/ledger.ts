/** One event as the ledger knows it: whose log, which place in it, and its exact payload. */
export interface LedgerEntry {
  readonly log: string;
  readonly seq: number;
  readonly payload: string;
}

/** One event that went wrong for one reader. */
export interface Discrepancy extends LedgerEntry {
  readonly reader: string;
}

/** All four empty: the invariant holds. */
export interface Verdict {
  /** Acked, after where the reader began, but never seen by it. */
  readonly lost: readonly Discrepancy[];
  /** Seen by one reader more than once. */
  readonly duplicated: readonly Discrepancy[];
  /** Seen after one with a higher place. */
  readonly reordered: readonly Discrepancy[];
  /** Seen, but of a log that the reader does not follow, from before where it began, or with a payload that was never appended. */
  readonly leaked: readonly Discrepancy[];
}

export interface Ledger {
  /** An append that the broker has acknowledged. Appending the same place twice with different payloads is an error of the test. */
  acked(entry: LedgerEntry): void;
  /** A reader begins to follow a log after a place in it; 0, the default, is the start of what readers see. */
  follows(reader: string, log: string, after?: number): void;
  /** Records an event that a reader was shown. Call it in the order in which the reader was shown them. */
  saw(reader: string, entry: LedgerEntry): void;
  /** Compares the two sides. Readers that are still under way have lost what they have not been shown yet. */
  verdict(): Verdict;
}

interface Reading {
  readonly log: string;
  readonly after: number;
  readonly seen: LedgerEntry[];
}

/**
 * The book that fault tests keep, so that all of them state one invariant in one way: what was acknowledged reaches each
 * reader of its log exactly once, in order, and no other reader. Pure: it only writes down and compares.
 */
export function createLedger(): Ledger {
  const logs = new Map<string, Map<number, LedgerEntry>>();
  const readings = new Map<string, Reading>();

  return {
    acked(entry) {
      const log = logs.get(entry.log) ?? new Map<number, LedgerEntry>();
      logs.set(entry.log, log);
      const earlier = log.get(entry.seq);
      if (earlier && earlier.payload !== entry.payload) {
        throw new Error(`seq ${entry.seq} of ${entry.log} was acked twice, with different payloads`);
      }
      log.set(entry.seq, entry);
    },
    follows(reader, log, after = 0) {
      if (readings.has(reader)) throw new Error(`${reader} follows ${readings.get(reader)!.log} already`);
      readings.set(reader, { log, after, seen: [] });
    },
    saw(reader, entry) {
      const reading = readings.get(reader);
      if (!reading) throw new Error(`${reader} follows nothing`);
      reading.seen.push(entry);
    },
    verdict() {
      const verdicts = [...readings].map(([reader, reading]) =>
        judge(reader, reading, logs.get(reading.log) ?? new Map()),
      );
      return {
        lost: verdicts.flatMap(({ lost }) => lost),
        duplicated: verdicts.flatMap(({ duplicated }) => duplicated),
        reordered: verdicts.flatMap(({ reordered }) => reordered),
        leaked: verdicts.flatMap(({ leaked }) => leaked),
      };
    },
  };
}

/** The verdict that fault tests expect. */
export const NOTHING_WRONG: Verdict = { lost: [], duplicated: [], reordered: [], leaked: [] };

function judge(
  reader: string,
  { log, after, seen }: Reading,
  acked: ReadonlyMap<number, LedgerEntry>,
): Verdict {
  const blame = (entry: LedgerEntry): Discrepancy => ({
    reader,
    log: entry.log,
    seq: entry.seq,
    payload: entry.payload,
  });
  const belongs = (entry: LedgerEntry): boolean =>
    entry.log === log && entry.seq > after && acked.get(entry.seq)?.payload === entry.payload;

  const duplicated: Discrepancy[] = [];
  const reordered: Discrepancy[] = [];
  const seqs = new Set<number>();
  let highest = after;
  for (const entry of seen.filter(belongs)) {
    if (seqs.has(entry.seq)) duplicated.push(blame(entry));
    else if (entry.seq < highest) reordered.push(blame(entry));
    seqs.add(entry.seq);
    highest = Math.max(highest, entry.seq);
  }
  const lost = [...acked.values()].filter(({ seq }) => seq > after && !seqs.has(seq)).map(blame);
  return { lost, duplicated, reordered, leaked: seen.filter((entry) => !belongs(entry)).map(blame) };
}
