import { peekSeq } from "@reprise/protocol";
import type { LogSnapshot, StoredEvent } from "../read/stored-event.ts";

/** The last event of a log: its own number, the broker's, and its bytes. */
export interface LogHead {
  /** -1 for a log without events. */
  readonly seq: number;
  /** 0 for a log without events. */
  readonly streamSeq: number;
  /** By its bytes it is known again: a store that has lost its end gives the same numbers to other events. */
  readonly payload: Uint8Array;
}

export const EMPTY_LOG: LogHead = { seq: -1, streamSeq: 0, payload: new Uint8Array() };

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
