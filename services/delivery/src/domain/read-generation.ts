import { createWriterName, appendDecision } from "@reprise/log";
import { type Generation, type GenerationRef, generationNotFound } from "@reprise/protocol";
import { type ReadSources, showAfter, showGeneration } from "./shown-generation.ts";

/** @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable` */
export async function readGeneration({ log, hub }: ReadSources, ref: GenerationRef): Promise<Generation> {
  const { events } = await log.reader.readLog(ref);
  if (events.length === 0) throw generationNotFound();
  return showGeneration(hub, ref, events);
}

/**
 * Appends `generation.cancelled`, unless the generation has ended. Whoever wins, the answer is what the log says.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function cancelGeneration(
  sources: ReadSources,
  ref: GenerationRef,
  reason: string,
): Promise<Generation> {
  const decision = await appendDecision({
    ...sources.log,
    ref,
    writer: createWriterName(),
    decide: ({ ended, usage }) => (ended ? undefined : { type: "generation.cancelled", reason, usage }),
  });
  return showAfter(sources, ref, decision);
}
