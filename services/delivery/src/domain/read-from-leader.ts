import type { GenerationLog, LogReader } from "@reprise/log";

/** Whole logs as a replica has them, and what their leader has beyond that. */
export function readFromLeader({ reader, leader }: GenerationLog): LogReader {
  return {
    ...reader,
    async readLog(ref) {
      const { events, streamSeq } = await reader.readLog(ref);
      const behind = await leader.readTail(ref, streamSeq);
      return {
        events: [...events, ...behind.map(({ payload }) => payload)],
        streamSeq: behind.at(-1)?.streamSeq ?? streamSeq,
      };
    },
  };
}
