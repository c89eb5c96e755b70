import { createLedger, type Discrepancy } from "@reprise/testkit";
import type { ReaderEnd, ReaderRecord } from "../readers/reader-record.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Violation, ViolationKind } from "./violation.ts";

/** A generation's log as it is in the end. */
export interface FinalLog {
  readonly generation: TestedGeneration;
  /** As readers get it: without what moderation has withdrawn. */
  readonly payloads: readonly string[];
  /** As it is stored, byte for byte. */
  readonly stored: readonly string[];
}

const MOST_NAMED = 8;

/** Compares what every reader was shown with what the logs hold in the end, through the ledger that all fault tests share. */
export async function judgeReaders(
  logs: readonly FinalLog[],
  readers: readonly ReaderRecord[],
): Promise<Violation[]> {
  const ledger = createLedger();
  for (const { generation, payloads } of logs) {
    for (const [seq, payload] of payloads.entries())
      if (seq > 0) ledger.acked({ log: generation.id, seq, payload });
  }
  const ends = new Map<string, ReaderEnd>();
  const owners = new Map<string, string>();
  for (const { name, generation, seen, done } of readers) {
    ends.set(name, await done);
    owners.set(name, generation.tenant.id);
    ledger.follows(name, generation.id);
    for (const { seq, payload } of seen) ledger.saw(name, { log: generation.id, seq, payload });
  }
  const { lost, duplicated, reordered, leaked } = ledger.verdict();
  const isForeign = ({ reader, payload }: Discrepancy) =>
    logs.some(
      ({ generation, payloads }) => generation.tenant.id !== owners.get(reader) && payloads.includes(payload),
    );
  const foreign = leaked.filter(isForeign);
  return [
    ...readers.flatMap((record) => blameEnd(record, ends.get(record.name)!)),
    ...readers.flatMap(judgeResponses),
    // One that left, or was refused, has lost nothing by not staying: only what it saw counts.
    ...blame(
      "lost",
      lost.filter(({ reader }) => ends.get(reader)?.type === "ended"),
    ),
    ...blame("duplicated", duplicated),
    ...blame("reordered", reordered),
    ...blame("foreign", foreign),
    ...blame(
      "unknown",
      leaked.filter((entry) => !foreign.includes(entry)),
    ),
  ];
}

function blameEnd({ name, generation }: ReaderRecord, end: ReaderEnd): Violation[] {
  if (end.type !== "refused") return [];
  return [{ kind: "refused", what: `${name} of ${generation.id}: ${end.code}, ${end.message}` }];
}

/**
 * Checks a response's end by PROTOCOL.md §8.1.5. A reader is never told by a clean end that a generation has ended which has not, and
 * once it has the end in hand it gets the rest, unless a fault breaks the connection.
 */
function judgeResponses({ name, generation, responses }: ReaderRecord): Violation[] {
  return responses.flatMap(({ connection, how, isTold, isExcused }): Violation[] => {
    const what = `${name} of ${generation.id}: its connection ${connection}`;
    if (how === "clean" && !isTold)
      return [{ kind: "early_end", what: `${what} ended cleanly before the terminal event` }];
    if ((how === "broken" || how === "error") && isTold && !isExcused)
      return [{ kind: "late_break", what: `${what} broke after the terminal event` }];
    return [];
  });
}

/** One violation per reader, however many events it is about. */
function blame(kind: ViolationKind, entries: readonly Discrepancy[]): Violation[] {
  const readers = new Set(entries.map(({ reader }) => reader));
  return [...readers].map((name): Violation => {
    const mine = entries.filter(({ reader }) => reader === name);
    const seqs = mine.map(({ seq }) => seq).slice(0, MOST_NAMED);
    const more = mine.length > MOST_NAMED ? " …" : "";
    return {
      kind,
      what: `${name} of ${mine[0]!.log}: ${mine.length} event(s), seq ${seqs.join(", ")}${more}`,
    };
  });
}
