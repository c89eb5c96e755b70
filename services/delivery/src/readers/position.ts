import type { Sketch } from "@reprise/facts";
import type { Seq } from "@reprise/protocol";

/** Progress of a connection. Timers read it and no event announces it, so it has to be cheap. */
export interface Position {
  /** The last event that the connection has taken; one less than the first while there is none. */
  readonly takenSeq: Seq;
  /** The last event that was handed to the connection, taken or not. */
  readonly sentSeq: Seq;
  /** When the first output was handed to it, by `performance.now()`; undefined before that, and where the log had output before the reader came. */
  readonly firstSentAtMs?: number | undefined;
  /** Between two writes of events that were stored while it was there, in microseconds; undefined while there are none. */
  readonly gaps?: Sketch | undefined;
}
