import { appendDecision, type GenerationCache } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import {
  type Generation,
  generationNotFound,
  type GenerationRef,
  isTerminal,
  peekSeq,
  peekType,
  usageAtEnd,
} from "@reprise/protocol";
import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import { type ReadSources, showAfter, showGeneration, showCached } from "./shown-generation.ts";

/**
 * Reads a generation in the form that the API returns. A running generation is read from the hub's memory, and one request to the log proves that this is up
 * to date. A single call makes the node follow the generation for the hub's `lingerMs`, because clients usually ask for a running generation again, and
 * following it costs less than reading and folding a long log for every call. An ended generation has its final checkpoint, and is read from the log.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function readGeneration(sources: ReadSources, ref: GenerationRef): Promise<Generation> {
  const { log, hub } = sources;
  const cache = await openRunning(sources, ref);
  const shown = cache && showCached(cache);
  if (shown) return shown;
  const { events } = await log.reader.readLog(ref);
  if (events.length === 0) throw generationNotFound();
  return showGeneration(hub, ref, events);
}

/** Undefined for a generation of which a replica knows nothing, or the end. */
async function openRunning(
  { log, hub }: ReadSources,
  ref: GenerationRef,
): Promise<GenerationCache | undefined> {
  const last = await log.reader.readLast(ref);
  if (!last || isTerminal(peekType(last.payload))) return undefined;
  const cache = await hub.open(ref);
  if (cache.lastSeq < peekSeq(last.payload)) await hub.refresh(cache);
  return cache;
}

/**
 * Appends `generation.cancelled`, unless the generation has ended. The result is the end that the log has then, this one or another.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function cancelGeneration(
  sources: ReadSources & { readonly readerMetrics?: Pick<ReaderMetrics, "cancelled"> },
  ref: GenerationRef,
  reason: string,
): Promise<Generation> {
  const decision = await appendDecision({
    ...sources.log,
    ref,
    writer: createWriterName(),
    decide: (found, first) =>
      found.ended ? undefined : { type: "generation.cancelled", reason, usage: usageAtEnd(found, first) },
  });
  if (decision.appended) sources.readerMetrics?.cancelled();
  return showAfter(sources, ref, decision);
}
