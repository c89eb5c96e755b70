import { pause } from "@reprise/async";
import type { RepriseError, StreamSeq } from "@reprise/protocol";
import { HUB_FAILURE } from "./cache/hub-failure.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import { RECHECK_MS } from "../append/rollback.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";

/**
 * Asks the leader if the log still has a doubted cache's last event, and adds the events after it. A deposed leader that does not know it was
 * deposed answers with an old log: it takes two answers, a while apart, to call an event lost.
 * @returns the reason why the cache can't continue; undefined if it can
 * @throws RepriseError `broker_unavailable`
 */
export async function verifyCache(
  leader: LeaderReader,
  cache: GenerationCache,
): Promise<RepriseError | undefined> {
  for (let opinions = 0; opinions < 2; opinions++) {
    if (opinions > 0) await pause(RECHECK_MS);
    cache.events.acceptStored(
      await leader.readTail(cache.ref, (cache.events.lastKnownStreamSeq - 1) as StreamSeq),
    );
    if (!cache.events.isDoubted) return undefined;
  }
  // An empty log may be lost or expired, which cannot be told apart here; the next reader gets what is known of it.
  return (await leader.readLast(cache.ref)) ? HUB_FAILURE.lost : HUB_FAILURE.dropped;
}
