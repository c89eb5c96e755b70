import type * as z from "zod";

/*
 * Numbers that must not be taken for one another. The brands exist for the compiler alone. Comparing, subtracting and `++` need nothing;
 * what is computed is a plain number until `plus` says, or a border where it comes from outside does, what it is.
 */

/** An event's number in its generation's log: 0, 1, 2, … without holes. */
export type Seq = number & z.$brand<"Seq">;

/** A message's number in its JetStream stream, across all subjects: 1, 2, 3, … */
export type StreamSeq = number & z.$brand<"StreamSeq">;

/** Seq of the request. In a verdict: nothing after it. */
export const REQUEST_SEQ = 0 as 0 & z.$brand<"Seq">;

/** Seq of the first event that readers get. */
export const FIRST_SEQ = 1 as Seq;

/** One less than the first seq, for counting and comparing. Elsewhere a missing event is `undefined`. */
export const NO_SEQ = -1 as Seq;

/** Greater than that of any event. */
export const BEYOND_LOG = Number.POSITIVE_INFINITY as Seq;

/**
 * Sequence before the first message, as the broker has it: reading after it begins with the first message; expecting it as the last expects an empty subject.
 */
export const STREAM_START = 0 as StreamSeq;

/** For a number that comes from outside, or was counted: from a payload, a cursor, a file. */
export function asSeq(value: number): Seq {
  return value as Seq;
}

/** For a number that comes from the broker, or from a file that has it from there. */
export function asStreamSeq(value: number): StreamSeq {
  return value as StreamSeq;
}

/** Returns the seq `places` later, or earlier if `places` is negative. */
export function plus(place: Seq, places: number): Seq;
export function plus(place: StreamSeq, places: number): StreamSeq;
export function plus(place: number, places: number): number {
  return place + places;
}
