import { type StreamSeq, STREAM_START } from "@reprise/protocol";
import { type Archive, commitKey, type Lane, parseCommit } from "@reprise/archive";
import { type Broker, readStoredAtUs, readStreamInfo, type StreamInfo } from "@reprise/log";

const NOTHING: Pick<Lane, "last" | "last_seq_stored" | "last_at"> = {
  last: STREAM_START,
  last_seq_stored: STREAM_START,
  last_at: 0,
};

/** Where archiving of a stream goes on. */
export interface LaneStart {
  readonly epoch: number;
  readonly created: string;
  /** Everything up to here is archived. */
  readonly after: StreamSeq;
  /** When the message there was stored, microseconds since 1970; undefined where none is known. */
  readonly afterAtUs?: number;
  /** Nothing behind `after` was stored before: microseconds since 1970. */
  readonly sinceUs: number;
}

/**
 * Where the archive has come to in a stream, and whether that is still the stream it was. A stream that was made anew is read from its
 * beginning. One that has lost its end, as after a power loss, is read from the newest commit whose last message it still has: what was
 * archived beyond that and is stored again is then archived twice, in two epochs. Nothing is archived of it twice in one epoch.
 * @throws RepriseError `broker_unavailable`, `archive_unavailable`
 */
export async function findLaneStart(
  connection: Broker["reads"],
  archive: Archive,
  stream: string,
): Promise<LaneStart> {
  await archive.refresh();
  const facts = await readStreamInfo(connection, stream);
  const lane = archive.state.lanes.get(stream);
  if (!lane) return startBehind(undefined, facts, 0);
  if (facts.created !== lane.created) return startBehind(undefined, facts, lane.epoch + 1);
  if (await isStillThere(connection, facts, lane)) return startBehind(lane, facts, lane.epoch);
  return startBehind(await lastKept(connection, archive, facts, lane), facts, lane.epoch + 1);
}

function startBehind(
  lane: Lane | undefined,
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
  { stream, last, last_seq_stored, last_at }: Lane,
): Promise<boolean> {
  if (lastStreamSeq < last) return false;
  if (last_seq_stored === 0) return true;
  const storedAtUs = await readStoredAtUs(connection, stream, last_seq_stored);
  return storedAtUs === undefined || storedAtUs === last_at;
}

async function lastKept(
  connection: Broker["reads"],
  archive: Archive,
  facts: StreamInfo,
  { stream, epoch }: Lane,
): Promise<Lane | undefined> {
  for (let n = archive.state.next - 1; n >= 0; n--) {
    const bytes = await archive.store.get(commitKey(n));
    const lane = bytes && parseCommit(bytes, n).lane;
    if (!lane || lane.stream !== stream) continue;
    if (lane.epoch !== epoch) return undefined;
    if (await isStillThere(connection, facts, lane)) return lane;
  }
  return undefined;
}
