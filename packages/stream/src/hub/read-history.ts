import { peekSeq, RepriseError, type Seq } from "@reprise/protocol";
import { HUB_FAILURE } from "./cache/hub-failure.ts";
import { isEventAt } from "../read/is-event.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import type { LogReader } from "../read/log-reader.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";

interface Sources {
  readonly reader: Pick<LogReader, "readBatch">;
  readonly leader: Pick<LeaderReader, "readTail">;
}

/**
 * Events that a cache has let go of and may show, from `fromSeq` on: one small batch, read from the log, as they are to be shown.
 * @throws RepriseError `cursor_expired` when the log no longer keeps them; `broker_unavailable`, also when the replica that
 *   answers does not have them yet; the cache's failure
 */
export async function readHistory(
  { reader, leader }: Sources,
  cache: GenerationCache,
  fromSeq: Seq,
): Promise<Uint8Array[]> {
  for (let after = cache.events.streamSeqBefore(fromSeq); ;) {
    const { events, more } = await reader.readBatch(cache.ref, after);
    const wanted = events.filter(({ payload }) => peekSeq(payload) >= fromSeq);
    const [first] = wanted;
    if (first) {
      if (peekSeq(first.payload) > fromSeq) throw expired();
      // Erased, for one, while it was read.
      if (cache.failure) throw cache.failure;
      if (wanted.some(({ payload }, i) => !isEventAt((fromSeq + i) as Seq, payload)))
        throw HUB_FAILURE.malformed;
      return cache.shown.show(wanted.map(({ payload }) => payload));
    }
    after = events.at(-1)?.streamSeq ?? after;
    if (more && events.length > 0) continue;
    // The cache has had the event, so the answer ends too early: the replica lags, or the log is gone. The leader knows.
    const [next] = await leader.readTail(cache.ref, after, 1);
    throw next && peekSeq(next.payload) <= fromSeq ? lagging() : expired();
  }
}

function lagging(): RepriseError {
  return new RepriseError("broker_unavailable", "The replica that answers does not have these events yet.", {
    retryAfterMs: 1_000,
  });
}

function expired(): RepriseError {
  return new RepriseError("cursor_expired", "The events after this cursor are no longer kept.");
}
