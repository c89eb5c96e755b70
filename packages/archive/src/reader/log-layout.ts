import { type Seq, plus, NO_SEQ, REQUEST_SEQ } from "@reprise/protocol";
import type { SegmentHeader } from "../segment/segment-header.ts";

/** Where a segment of a log lies. */
export type LogPlace = Pick<SegmentHeader, "epoch" | "first_stream_seq" | "first_seq" | "last_seq">;

/** Consecutive events, the first and the last included. */
export interface SeqRange {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
}

/** The part of a segment that belongs to the log. */
export interface Stretch<S> extends SeqRange {
  readonly segment: S;
}

export interface LogLayout<S> {
  /** In the order of the log. */
  readonly stretches: readonly Stretch<S>[];
  /** Events that must have been there: before, or between, those that are. */
  readonly holes: readonly SeqRange[];
}

/**
 * Puts the segments of one generation's log together. A stream that has lost its end, or was created again, stored other events at the places of
 * lost ones: a segment that was stored later replaces everything from its first event's place.
 */
export function layOutLog<S>(segments: readonly S[], placeOf: (segment: S) => LogPlace): LogLayout<S> {
  const stretches: Stretch<S>[] = [];
  for (const segment of segments.toSorted((a, b) => compareStored(placeOf(a), placeOf(b)))) {
    const { first_seq: fromSeq, last_seq: toSeq } = placeOf(segment);
    while ((stretches.at(-1)?.fromSeq ?? NO_SEQ) >= fromSeq) stretches.pop();
    const before = stretches.pop();
    if (before) stretches.push({ ...before, toSeq: Math.min(before.toSeq, plus(fromSeq, -1)) });
    stretches.push({ segment, fromSeq, toSeq });
  }
  return { stretches, holes: holesBetween(stretches) };
}

/** In the order in which the broker has stored them. */
export function compareStored(
  a: Pick<LogPlace, "epoch" | "first_stream_seq">,
  b: Pick<LogPlace, "epoch" | "first_stream_seq">,
): number {
  return a.epoch - b.epoch || a.first_stream_seq - b.first_stream_seq;
}

function holesBetween(ranges: readonly SeqRange[]): SeqRange[] {
  const holes: SeqRange[] = [];
  let next: Seq = REQUEST_SEQ;
  for (const { fromSeq, toSeq } of ranges) {
    if (fromSeq > next) holes.push({ fromSeq: next, toSeq: plus(fromSeq, -1) });
    next = plus(toSeq, 1);
  }
  return holes;
}
