import type { StreamSeq, Seq } from "@reprise/protocol";

/** One event of a generation's log, as it is archived. */
export interface LogEvent {
  /** Its place in the log. */
  readonly seq: Seq;
  readonly streamSeq: StreamSeq;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
  readonly payload: Uint8Array;
}
