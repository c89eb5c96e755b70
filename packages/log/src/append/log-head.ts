import { peekSeq, type StreamSeq, type Seq, STREAM_START, NO_SEQ } from "@reprise/protocol";
import type { LogSnapshot, StoredEvent } from "../read/stored-event.ts";

/** The last event of a log: its own number, the broker's, and its bytes. */
export interface LogHead {
  /** `NO_SEQ` for a log without events. */
  readonly seq: Seq;
  /** `STREAM_START` for a log without events. */
  readonly streamSeq: StreamSeq;
  /** By its bytes it is known again: a store that has lost its end gives the same numbers to other events. */
  readonly payload: Uint8Array;
}

export const EMPTY_LOG: LogHead = { seq: NO_SEQ, streamSeq: STREAM_START, payload: new Uint8Array() };

export function headOf({ events, streamSeq }: LogSnapshot): LogHead {
  const payload = events.at(-1);
  return payload ? toHead({ payload, streamSeq }) : EMPTY_LOG;
}

export function toHead({ payload, streamSeq }: Pick<StoredEvent, "payload" | "streamSeq">): LogHead {
  return { seq: peekSeq(payload), streamSeq, payload };
}

/** Whether an event that the log has is the one that a head names. */
export function isHead(event: StoredEvent | undefined, { streamSeq, payload }: LogHead): boolean {
  return event?.streamSeq === streamSeq && Buffer.compare(event.payload, payload) === 0;
}
