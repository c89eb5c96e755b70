import { type Archive, commitKey, type Lane, parseCommit } from "@reprise/archive";
import { type Broker, readStoredAtUs, readStreamFacts, type StreamFacts } from "@reprise/log";

/** Where archiving of a stream goes on. */
export interface LaneStart {
  readonly epoch: number;
  readonly created: string;
  /** Everything up to here is archived. */
  readonly after: number;
  /** When the message there was stored, microseconds since 1970; undefined where none is known. */
  readonly afterAtUs?: number;
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
  const facts = await readStreamFacts(connection, stream);
  const { created } = facts;
  const lane = archive.state.lanes.get(stream);
  if (!lane) return { epoch: 0, created, after: 0 };
  if (created !== lane.created) return { epoch: lane.epoch + 1, created, after: 0 };
  if (await isStillThere(connection, facts, lane)) return { epoch: lane.epoch, created, ...endOf(lane) };
  const kept = await lastKept(connection, archive, facts, lane);
  return { epoch: lane.epoch + 1, created, ...(kept ? endOf(kept) : { after: 0 }) };
}

function endOf({ last, last_seq_stored, last_at }: Lane): Pick<LaneStart, "after" | "afterAtUs"> {
  return last > 0 && last === last_seq_stored ? { after: last, afterAtUs: last_at } : { after: last };
}

/** Expired messages tell nothing, and count as kept. */
async function isStillThere(
  connection: Broker["reads"],
  { lastStreamSeq }: StreamFacts,
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
  facts: StreamFacts,
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
