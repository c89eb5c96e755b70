import type { StreamSeq } from "@reprise/protocol";

/** One event as it lies in the log. `payload` is the reader's own copy. */
export interface StoredEvent {
  readonly payload: Uint8Array;
  readonly streamSeq: StreamSeq;
  /** The appender that wrote it; "" when unknown, as for events that came out of a checkpoint. */
  readonly writer: string;
  /** When the broker stored it: RFC 3339. Only `LogReader.readLast` says it. */
  readonly storedAt?: string;
}

/** A generation's log as far as it is stored: `events[0]` is the oldest one kept. */
export interface LogSnapshot {
  readonly events: Uint8Array[];
  /** The stream sequence of the last event; 0 when there is none. */
  readonly streamSeq: StreamSeq;
}
