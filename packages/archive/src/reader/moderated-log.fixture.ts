import {
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  type DeliveryMark,
  Withdrawals,
  asSeq,
  asStreamSeq,
  type Seq,
} from "@reprise/protocol";
import * as fc from "fast-check";
import type { LogEvent } from "./log-outline.ts";

const STEP_US = 1_000_000;
const found = { rule: "cards", category: "cards" };

/** A log whose events are stored a second apart, the first of them at 0. */
export function toLogEvents(drafts: readonly EventDraft[]): LogEvent[] {
  return drafts.map((draft, seq) => ({
    seq: asSeq(seq),
    streamSeq: asStreamSeq(10 + seq),
    storedAtUs: seq * STEP_US,
    payload: encodeEvent(asSeq(seq), draft),
  }));
}

/** All that has a text, in the order of the kinds of events below. */
const CHANNELS = ["0", "reasoning", "refusal", "reasoning_summary", "annotation"];

/** A log of all that a model may say, of which anything may be withdrawn at any time. */
export const anyModeratedLog: fc.Arbitrary<LogEvent[]> = fc
  .array(fc.tuple(fc.nat(9), fc.nat(), fc.nat(), fc.string({ maxLength: 3 })), {
    minLength: 3,
    maxLength: 30,
  })
  .map((choices) => toLogEvents(choices.map((choice, seq) => draftAt(seq, ...choice))));

function draftAt(seq: number, kind: number, a: number, b: number, text: string): EventDraft {
  if (seq === 0 || (kind === 4 && a % 3 === 0)) {
    return { type: "generation.started", attempt: 1 + seq, worker: "w", model: "sim" };
  }
  const [from_seq, to_seq] = [1 + (a % seq), 1 + (b % seq)].toSorted((x, y) => x - y) as [number, number];
  if (kind === 0)
    return {
      type: "moderation.redacted",
      from_seq: asSeq(from_seq),
      to_seq: asSeq(to_seq),
      replacement: text,
      channel: CHANNELS[(a + b) % CHANNELS.length]!,
      ...found,
    };
  if (kind === 1 && b % 4 === 0)
    return { type: "moderation.halted", from_seq: asSeq(from_seq), replacement: text, ...found };
  if (kind === 2) return { type: "reasoning.delta", text: `${text}${seq}` };
  if (kind === 6) return { type: "refusal.delta", text: `${text}${seq}` };
  if (kind === 7) return { type: "reasoning.summary.delta", text: `${text}${seq}`, part: a % 2 };
  if (kind === 8)
    return { type: "output.annotation", kind: "url", url: `https://a/${seq}`, title: `${text}${seq}` };
  if (kind === 9) return { type: "reasoning.sealed", encrypted: `${seq}` };
  return { type: "output.delta", text: `${text}${seq}` };
}

/** The visit of one reader while a log grows. */
export interface Visit {
  /** Number of events in the log when it comes. */
  readonly comesAt: number;
  readonly fromSeq: number;
  /** Number of events that it takes after each stored one, beginning when it comes. It leaves after the last of them. */
  readonly takes: readonly number[];
}

export const anyVisit: fc.Arbitrary<Visit> = fc.record({
  comesAt: fc.integer({ min: 1, max: 30 }),
  fromSeq: fc.nat(20),
  takes: fc.array(fc.nat(4), { minLength: 1, maxLength: 20 }),
});

/** Serves one reader while a log grows: what it was handed, and the mark that says so. */
export function simulateReader(log: readonly LogEvent[], { comesAt, fromSeq, takes }: Visit) {
  const startsAt = Math.min(comesAt, log.length);
  const handed: { seq: Seq; payload: Uint8Array }[] = [];
  const withdrawn: [Seq, Seq][] = [];
  const lastHanded = () => handed.at(-1)?.seq ?? asSeq(fromSeq - 1);
  for (const [i, count] of takes.entries()) {
    const known = log.slice(0, startsAt + i);
    const newest = known.at(-1)!;
    if (startsAt + i > log.length) break;
    if (i > 0 && isWithdrawal(newest)) withdrawn.push([newest.seq, lastHanded()]);
    const withdrawals = new Withdrawals();
    for (const event of known) withdrawals.apply(decoded(event));
    for (const { seq, payload } of known.slice(lastHanded() + 1, lastHanded() + 1 + count))
      handed.push({ seq, payload: withdrawals.project(seq, payload) });
  }
  const mark: DeliveryMark = {
    reader: "rdr_1",
    protocol: "sse",
    address: "public",
    by: "key",
    from_seq: asSeq(fromSeq),
    seq: lastHanded(),
    known_seq: asSeq(startsAt - 1),
    started_at: new Date((startsAt - 0.5) * (STEP_US / 1_000)).toISOString(),
    ...(withdrawn.length > 0 && { withdrawn }),
  };
  return { handed, mark };
}

const decoded = ({ payload }: LogEvent) => JSON.parse(Buffer.from(payload).toString()) as KnownEvent;
const isWithdrawal = (event: LogEvent) => /redacted|halted/.test(decoded(event).type);
