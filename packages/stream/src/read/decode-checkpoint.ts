import { asStreamSeq, NO_SEQ, peekSeq } from "@reprise/protocol";
import type { LogSnapshot } from "./stored-event.ts";

/** Ends each event's payload in a checkpoint: see `append/checkpoint.ts`. */
export const LF = 0x0a;

/**
 * Returns the prefix of a log that a checkpoint holds, or undefined if the checkpoint is damaged: not lines that end with a LF, or with
 * holes between its events. The log itself has everything that a checkpoint has.
 */
export function decodeCheckpoint(
  message: Uint8Array,
  streamSeqHeader: string | undefined,
): LogSnapshot | undefined {
  const streamSeq = asStreamSeq(Number(streamSeqHeader));
  if (!Number.isSafeInteger(streamSeq) || streamSeq < 1 || message.at(-1) !== LF) return undefined;
  // One copy for all: the payloads are views of it.
  const own = Uint8Array.from(message);
  const events = splitLines(own);
  const firstSeq = peekSeq(own);
  const whole = events.every((payload, i) => firstSeq !== NO_SEQ && peekSeq(payload) === firstSeq + i);
  return whole ? { events, streamSeq } : undefined;
}

/** Returns the payloads as views of the checkpoint. */
export function splitLines(message: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < message.length;) {
    const end = message.indexOf(LF, start);
    lines.push(message.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
