import { appendDecision, type GenerationLog } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import type { GenerationRef } from "@reprise/protocol";

/**
 * Ends a generation that was halted, unless its worker is first.
 * @throws RepriseError `broker_unavailable`
 */
export async function endHalted(log: GenerationLog, ref: GenerationRef): Promise<void> {
  await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide: ({ ended, usage }) =>
      ended ? undefined : { type: "generation.completed", finish_reason: "content_filter", usage },
  });
}
