import { JetStreamApiError } from "@nats-io/jetstream";

/**
 * The error codes of JetStream's API (`err_code`) that this package acts on; all others mean that the broker refuses.
 * Source: `server/errors.json` of nats-server 2.15.
 */
export const JETSTREAM_ERROR = {
  /** A cluster that has just begun does not know all its servers yet. */
  noSuitablePeers: 10_005,
  consumerNotFound: 10_014,
  noMessageFound: 10_037,
  sequenceNotFound: 10_043,
  /** A deletion failed: in practice, the message does not exist. */
  deletionFailed: 10_057,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  /** A work queue has another consumer whose filter overlaps. */
  consumerNotUnique: 10_100,
  consumerExists: 10_148,
  /** An earlier publish to the same subject is still being replicated. */
  earlierPublishInFlight: 10_164,
} as const;

type RefusalName = keyof typeof JETSTREAM_ERROR;

const NO_MESSAGE: ReadonlySet<number> = new Set([
  JETSTREAM_ERROR.noMessageFound,
  JETSTREAM_ERROR.sequenceNotFound,
  JETSTREAM_ERROR.deletionFailed,
]);

/** True if the broker says that the stream, which exists, has no such message. */
export function isNoMessage(errCode: number): boolean {
  return NO_MESSAGE.has(errCode);
}

/** True if an error is, or was caused by, this refusal of JetStream's API. */
export function isRefusal(error: unknown, name: RefusalName): boolean {
  const refusal = error instanceof JetStreamApiError ? error : (error as Error | undefined)?.cause;
  return refusal instanceof JetStreamApiError && refusal.code === JETSTREAM_ERROR[name];
}
