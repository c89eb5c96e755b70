import { type StreamSeq, STREAM_START } from "@reprise/protocol";
import { type Broker, readStoredAtUs, readStreamInfo, type StreamInfo } from "@reprise/broker";
import { readSettledInfo } from "./read-settled-info.ts";

const NOTHING: Pick<LanePosition, "last" | "last_seq_stored" | "last_at"> = {
  last: STREAM_START,
  last_seq_stored: STREAM_START,
  last_at: 0,
};

/** The consumed part of a stream, as of the last commit. */
export interface LanePosition {
  readonly stream: string;
  /** Counts how often the stream was found to be another one, or to have lost its end. */
  readonly epoch: number;
  /** When the broker made the stream. RFC 3339. */
  readonly created: string;
  readonly last: StreamSeq;
  /** The last place at which there was a message, and when it was stored, microseconds since 1970. */
  readonly last_seq_stored: StreamSeq;
  readonly last_at: number;
}

/** The commits of the streams' consumer; any process that has held the lease may have made them. */
export interface LaneHistory {
  /** The newest of a stream. */
  last(stream: string): Promise<LanePosition | undefined>;
  /** All of a stream, newest first. */
  all(stream: string): AsyncIterable<LanePosition>;
}

/** Start from which consuming a stream continues. */
export interface LaneStart {
  readonly epoch: number;
  readonly created: string;
  /** Everything up to here is committed. */
  readonly after: StreamSeq;
  /** When the message there was stored, microseconds since 1970; undefined where none is known. */
  readonly afterAtUs?: number;
  /** Earliest time at which messages after `after` were stored: microseconds since 1970. */
  readonly sinceUs: number;
}

/**
 * Finds the consumer's place in a stream, and checks that it is still the same stream. A recreated stream is read from its beginning. A stream that has
 * lost its end, as after a power loss, is read from the newest commit whose last message it still has. Messages that were consumed beyond that and are
 * stored again are then consumed twice, in two epochs. No message is consumed twice in one epoch.
 * @throws RepriseError `broker_unavailable`, and what the history throws
 */
export async function findLaneStart(
  connection: Broker["reads"],
  history: LaneHistory,
  stream: string,
): Promise<LaneStart> {
  const lane = await history.last(stream);
  const facts = lane
    ? await readSettledInfo(connection, stream, lane)
    : await readStreamInfo(connection, stream);
  if (!lane) return startBehind(undefined, facts, 0);
  if (facts.created !== lane.created) return startBehind(undefined, facts, lane.epoch + 1);
  if (await isStillThere(connection, facts, lane)) return startBehind(lane, facts, lane.epoch);
  return startBehind(await lastKept(connection, history, facts, lane), facts, lane.epoch + 1);
}

function startBehind(
  lane: LanePosition | undefined,
  { created, lastStreamSeq, atUs }: StreamInfo,
  epoch: number,
): LaneStart {
  const { last: after, last_seq_stored: storedAt, last_at: lastAtUs } = lane ?? NOTHING;
  return {
    epoch,
    created,
    after,
    ...(after > 0 && after === storedAt && { afterAtUs: lastAtUs }),
    sinceUs: lastStreamSeq <= after ? atUs : Math.max(lastAtUs, Date.parse(created) * 1_000),
  };
}

/** Expired messages tell nothing, and count as kept. */
async function isStillThere(
  connection: Broker["reads"],
  { lastStreamSeq }: StreamInfo,
  { stream, last, last_seq_stored, last_at }: LanePosition,
): Promise<boolean> {
  if (lastStreamSeq < last) return false;
  if (last_seq_stored === 0) return true;
  const storedAtUs = await readStoredAtUs(connection, stream, last_seq_stored);
  return storedAtUs === undefined || storedAtUs === last_at;
}

async function lastKept(
  connection: Broker["reads"],
  history: LaneHistory,
  facts: StreamInfo,
  { stream, epoch }: LanePosition,
): Promise<LanePosition | undefined> {
  for await (const lane of history.all(stream)) {
    if (lane.epoch !== epoch) return undefined;
    if (await isStillThere(connection, facts, lane)) return lane;
  }
  return undefined;
}
