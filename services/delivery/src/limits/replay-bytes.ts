import type { GenerationCache } from "@reprise/log";
import type { Seq } from "@reprise/protocol";

const VIEW_BYTES = 64 * 1_024;

/**
 * How many bytes of frames a reader is behind when it comes. Events that are not in memory any more count as large as the others on average.
 */
export function replayBytes(
  cache: Pick<GenerationCache, "frames" | "shownSeq" | "view">,
  fromSeq: Seq,
): number {
  const { firstSeq } = cache.frames;
  const keptFrom = Math.max(fromSeq, firstSeq);
  const kept = bytesFrom(cache, keptFrom);
  const missing = Math.min(keptFrom, cache.shownSeq + 1) - fromSeq;
  if (missing <= 0) return kept;
  const events = cache.shownSeq - firstSeq + 1;
  return kept + Math.ceil((missing * bytesFrom(cache, firstSeq)) / Math.max(1, events));
}

function bytesFrom(cache: Pick<GenerationCache, "view">, fromSeq: Seq): number {
  let bytes = 0;
  for (let view = cache.view(fromSeq, VIEW_BYTES); view; view = cache.view(view.next, VIEW_BYTES))
    bytes += view.bytes.length;
  return bytes;
}
