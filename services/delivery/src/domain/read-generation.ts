import { createWriterName, appendDecision, type GenerationLog } from "@reprise/log";
import {
  decodeEvent,
  type Generation,
  type GenerationRef,
  Transcript,
  generationNotFound,
} from "@reprise/protocol";
import { toGeneration } from "./to-generation.ts";
import { toRequested } from "./to-requested.ts";

/** @throws RepriseError `generation_not_found`, `generation_expired`, `cursor_expired`, `broker_unavailable` */
export async function readGeneration(log: GenerationLog, ref: GenerationRef): Promise<Generation> {
  const { events } = await log.reader.readLog(ref);
  const [first] = events;
  if (!first) throw generationNotFound();
  const transcript = new Transcript();
  for (const payload of events) transcript.apply(decodeEvent(payload));
  return toGeneration(ref.generation, toRequested(first), transcript);
}

/**
 * Appends `generation.cancelled`, unless the generation has ended. Whoever wins, the answer is what the log says.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `cursor_expired`, `broker_unavailable`
 */
export async function cancelGeneration(
  log: GenerationLog,
  ref: GenerationRef,
  reason: string,
): Promise<Generation> {
  const { first, transcript } = await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide: ({ ended, usage }) => (ended ? undefined : { type: "generation.cancelled", reason, usage }),
  });
  return toGeneration(ref.generation, toRequested(first), transcript);
}
