import { setTimeout as delay } from "node:timers/promises";
import { type BlobStore, openArchive } from "@reprise/archive";
import { type Broker, readStreamInfo } from "@reprise/broker";
import { generationsStream } from "@reprise/protocol";
import { SHARDS } from "../../targets/reprise/broker.ts";

const POLL_MS = 20;

/**
 * Resolves when an archive has all events that are stored now.
 * @param name of the archive
 */
export async function untilArchived(
  { broker, store, name }: { broker: Broker; store: BlobStore; name: string },
  signal: AbortSignal,
): Promise<void> {
  const archive = await openArchive({ store, name });
  const streams = Array.from({ length: SHARDS }, (_, shard) => generationsStream(shard));
  for (const stream of streams) {
    const { lastStreamSeq } = await readStreamInfo(broker.reads, stream);
    while ((archive.state.lanes.get(stream)?.last ?? 0) < lastStreamSeq) {
      await delay(POLL_MS, undefined, { signal });
      await archive.refresh();
    }
  }
}
