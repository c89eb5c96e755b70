import type { MsgHdrs } from "@nats-io/transport-node";

/** Names of the NATS headers that the log reads and writes. */
export const HEADER = {
  /** Publish only if the subject's last message has this stream sequence; 0 for none. */
  expectedLastSubjectSequence: "Nats-Expected-Last-Subject-Sequence",
  messageId: "Nats-Msg-Id",
  /** On republished and directly read messages: the stream they are stored in. */
  stream: "Nats-Stream",
  /** On the same: the stream sequence. */
  sequence: "Nats-Sequence",
  /** On directly read messages: the subject, and when the broker stored it. */
  subject: "Nats-Subject",
  timeStamp: "Nats-Time-Stamp",
  /** On the end of a batch of them: how many more there are. */
  pending: "Nats-Num-Pending",
  /** How long a message is kept, where that is not the stream's `max_age`: seconds, `24h0m0s` as the broker writes it, or `never`. */
  ttl: "Nats-TTL",
  /** Which appender wrote an event: unique per appender, so that an ambiguous publish can be told from another writer's. */
  writer: "Reprise-Writer",
  /** On a checkpoint: the stream sequence of the last event in it. */
  checkpointStreamSeq: "Reprise-Stream-Seq",
  /** On an empty message in a checkpoint's place: the generation was erased, even if its log still has events. */
  erased: "Reprise-Erased",
  /** On a job: what its tenant may have of a model's slots. */
  share: "Reprise-Share",
  /** On a job: the span that has queued it, as W3C Trace Context writes it. */
  trace: "traceparent",
} as const;

/**
 * The values that a message has under a name, in their order. The client's own `values` and `has` copy all names at each call, and three or four of them are called for each
 * message that is read.
 */
export function valuesOf(headers: MsgHdrs | undefined, name: string): readonly string[] | undefined {
  if (headers) for (const [key, values] of headers) if (key === name) return values;
  return undefined;
}
