import {
  type GenerationRef,
  NO_SEQ,
  peekSeq,
  plus,
  type Seq,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import type { LeaderReader } from "./leader-reader.ts";
import type { LogSnapshot, StoredEvent } from "./stored-event.ts";

/*
 * A store that has lost its end, as after a power loss with a lazy fsync, forgets events that were acknowledged, and gives their
 * numbers to others. A process that knows a log's head detects this by reading from the head instead of from the event after it: the head
 * has to be the first event that comes.
 */

/** The last event of a log: its own number, the broker's, and its bytes. */
export interface LogHead {
  /** `NO_SEQ` for a log without events. */
  readonly seq: Seq;
  /** `STREAM_START` for a log without events. */
  readonly streamSeq: StreamSeq;
  /** Identifies the event: a store that has lost its end gives the same numbers to other events. */
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

/** Tells if a stored event is the one that a head names. */
export function isHead(event: StoredEvent | undefined, { streamSeq, payload }: LogHead): boolean {
  return event?.streamSeq === streamSeq && Buffer.compare(event.payload, payload) === 0;
}

/** Reads what follows a head. Returns undefined if the log that answered does not have the head at its place. */
export async function readAfterHead(
  source: Pick<LeaderReader, "readTail">,
  ref: GenerationRef,
  head: LogHead,
): Promise<StoredEvent[] | undefined> {
  if (head.streamSeq === STREAM_START) return source.readTail(ref, STREAM_START);
  const [first, ...tail] = await source.readTail(ref, plus(head.streamSeq, -1));
  return isHead(first, head) ? tail : undefined;
}
