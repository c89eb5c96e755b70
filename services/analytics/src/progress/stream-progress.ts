import { type LanePosition, SKEW_US } from "@reprise/facts/lane";
import {
  type Broker,
  readRawFromLeader,
  readStoredAtUs,
  readStreamInfo,
  type StreamInfo,
} from "@reprise/broker";
import { STREAM_START, type StreamSeq } from "@reprise/protocol";

/** The lag of a lane's commits. Microseconds since 1970, by the broker's clock. */
export interface StreamProgress {
  /** Messages that were stored before this are committed, or expired before they could be. */
  readonly completeUntilUs: number;
  /** When the oldest message was stored that is not committed, at the earliest where that has expired; undefined without one. */
  readonly unreadSinceUs: number | undefined;
  /** For how long the stream keeps a message. */
  readonly maxAgeUs: number;
}

const ALL_SUBJECTS = ">";
const US_PER_MS = 1_000;

/**
 * An old `lane` gives a time that is too early, never one that is too late. Nor does a stream that has lost its end: what was committed of it beyond that does not count.
 * @param lane where commits have come to; undefined: no commit is known
 * @throws RepriseError `broker_unavailable`
 */
export async function readStreamProgress(
  connection: Broker["reads"],
  stream: string,
  lane: LanePosition | undefined,
): Promise<StreamProgress> {
  const info = await readStreamInfo(connection, stream);
  const { created, lastStreamSeq, atUs, maxAgeUs, replicas } = info;
  // A later leader's clock may be slower than that of the one that has answered.
  const skewUs = replicas > 1 ? SKEW_US : 0;
  const createdUs = Date.parse(created) * US_PER_MS;
  const isKnown = lane !== undefined && (await isStillThere(connection, stream, lane, info));
  const after = isKnown ? lane.last : STREAM_START;
  if (after >= lastStreamSeq) return { completeUntilUs: atUs - skewUs, unreadSinceUs: undefined, maxAgeUs };
  const unread = await nextStoredAtUs(connection, stream, after);
  // What came next has expired unread: there is nothing left to be in time for.
  const hasLost = isKnown && info.firstStreamSeq > after + 1;
  const untilUs = unread === undefined ? lane?.last_at : Math.min(unread, atUs);
  return {
    completeUntilUs: isKnown ? Math.max(createdUs, (untilUs ?? createdUs) - skewUs) : createdUs,
    unreadSinceUs: hasLost ? Math.max(createdUs, lane.last_at) : unread,
    maxAgeUs,
  };
}

async function isStillThere(
  connection: Broker["reads"],
  stream: string,
  { created, last, last_seq_stored: storedSeq, last_at: lastAtUs }: LanePosition,
  info: StreamInfo,
): Promise<boolean> {
  if (created !== info.created || info.lastStreamSeq < last) return false;
  if (storedSeq === 0) return true;
  const storedAtUs = await readStoredAtUs(connection, stream, storedSeq);
  return storedAtUs === undefined || storedAtUs === lastAtUs;
}

async function nextStoredAtUs(
  connection: Broker["reads"],
  stream: string,
  after: StreamSeq,
): Promise<number | undefined> {
  for await (const { storedAtUs } of readRawFromLeader(connection, stream, {
    afterStreamSeq: after,
    subject: ALL_SUBJECTS,
  }))
    return storedAtUs;
  return undefined;
}
