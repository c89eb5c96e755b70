import type { GenerationLog, LogSnapshot } from "@reprise/log";
import type { GenerationRef } from "@reprise/protocol";

/**
 * A log with what its leader has beyond a replica that lags.
 * @throws RepriseError `generation_expired`, `generation_erased`, `broker_unavailable`
 */
export async function readLogToItsEnd(
  { reader, leader }: Pick<GenerationLog, "reader" | "leader">,
  ref: GenerationRef,
): Promise<LogSnapshot> {
  const { events, streamSeq } = await reader.readLog(ref);
  const tail = await leader.readTail(ref, streamSeq);
  return {
    events: [...events, ...tail.map(({ payload }) => payload)],
    streamSeq: tail.at(-1)?.streamSeq ?? streamSeq,
  };
}
