import { appendDecision, type GenerationLog } from "@reprise/log";
import {
  decodeEvent,
  type Generation,
  type GenerationRef,
  RepriseError,
  type RequestedEvent,
  Transcript,
} from "@reprise/protocol";
import { randomUUID } from "node:crypto";
import { toGeneration } from "./view.ts";

/** @throws RepriseError `generation_not_found`, `broker_unavailable` */
export async function readGeneration(log: GenerationLog, ref: GenerationRef): Promise<Generation> {
  const { events } = await log.reader.readLog(ref);
  const transcript = new Transcript();
  let requested: RequestedEvent | undefined;
  for (const payload of events) {
    const event = decodeEvent(payload);
    if (event.seq === 0) requested = event as RequestedEvent;
    transcript.apply(event);
  }
  if (!requested)
    throw new RepriseError("generation_not_found", "There is no generation with this id.", { param: "id" });
  return toGeneration(ref.generation, requested, transcript);
}

/**
 * Appends `generation.cancelled`, unless the generation has ended. Whoever wins, the answer is what the log says.
 * @throws RepriseError `generation_not_found`, `broker_unavailable`
 */
export async function cancelGeneration(
  log: GenerationLog,
  ref: GenerationRef,
  reason: string,
): Promise<Generation> {
  await appendDecision({
    ...log,
    ref,
    writer: randomUUID(),
    decide: ({ ended, usage }) => (ended ? undefined : { type: "generation.cancelled", reason, usage }),
  });
  return readGeneration(log, ref);
}
