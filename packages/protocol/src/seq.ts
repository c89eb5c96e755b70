import type * as z from "zod";

/*
 * Numbers that must not be taken for one another. The brands exist for the compiler alone. Comparing, subtracting and `++` need nothing;
 * what is computed is a plain number until `plus` says, or a border where it comes from outside does, what it is.
 */

/** An event's number in its generation's log: 0, 1, 2, … without holes. */
export type Seq = number & z.$brand<"Seq">;

/** A message's number in its JetStream stream, whatever its subject: 1, 2, 3, … */
export type StreamSeq = number & z.$brand<"StreamSeq">;

/** Of the request. In a verdict: nothing behind it. */
export const REQUEST_SEQ = 0 as 0 & z.$brand<"Seq">;

/** Of the first event that readers get. */
export const FIRST_SEQ = 1 as Seq;

/** Of no event: one less than that of the first, for what is counted up and compared. Elsewhere no event is `undefined`. */
export const NO_SEQ = -1 as Seq;

/** Greater than that of any event. */
export const BEYOND_LOG = Number.POSITIVE_INFINITY as Seq;

/** Of no message, as the broker has it: reading behind it begins with the first one; expecting it as the last expects that there is none. */
export const STREAM_START = 0 as StreamSeq;

/** For a number that comes from outside, or was counted: from a payload, a cursor, a file. */
export function asSeq(value: number): Seq {
  return value as Seq;
}

/** For a number that comes from the broker, or from a file that has it from there. */
export function asStreamSeq(value: number): StreamSeq {
  return value as StreamSeq;
}

/** So many places further on, or back where `places` is negative. */
export function plus(place: Seq, places: number): Seq;
export function plus(place: StreamSeq, places: number): StreamSeq;
export function plus(place: number, places: number): number {
  return place + places;
}
