import { type StreamSeq, asStreamSeq, type UnixMs, asUnixMs } from "@reprise/protocol";

/** Delivery metadata in the subject that acknowledges a message. */
export interface DeliveryInfo {
  /** Number of times that the broker has handed out the message, including this one. */
  readonly deliveries: number;
  readonly streamSeq: StreamSeq;
  /** The number of this delivery among all of the consumer. */
  readonly deliverySeq: number;
  readonly storedAtMs: UnixMs;
  /** Number of messages that the consumer had never handed out at that time. */
  readonly pending: number;
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<delivery seq>.<stored at, ns>.<pending>`. */
const V1_TOKENS = 9;
const DELIVERIES = 4;
/** In its longer form, domain and account come before the stream. */
const LONGER_BY = 2;

export function readAckSubject(subject: string): DeliveryInfo {
  const tokens = subject.split(".");
  const at = tokens.length > V1_TOKENS ? DELIVERIES + LONGER_BY : DELIVERIES;
  return {
    deliveries: Number(tokens[at]),
    streamSeq: asStreamSeq(Number(tokens[at + 1])),
    deliverySeq: Number(tokens[at + 2]),
    storedAtMs: asUnixMs(Number(tokens[at + 3]) / 1_000_000),
    pending: Number(tokens[at + 4]),
  };
}
