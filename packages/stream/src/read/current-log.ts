import type { GenerationRef } from "@reprise/protocol";
import type { GenerationLog } from "./generation-log.ts";
import type { LeaderReader } from "./leader-reader.ts";
import type { LogSnapshot } from "./stored-event.ts";

/*
 * Consistent reads: a replica has most of a log and gives it in batches, and its leader has everything that was acknowledged before the call.
 */

/**
 * The whole log: a replica's events, and the leader's events after those.
 * @throws RepriseError as `LogReader.readLog` does
 */
export async function readCurrentLog(
  { reader, leader }: Pick<GenerationLog, "reader" | "leader">,
  ref: GenerationRef,
): Promise<LogSnapshot> {
  return extendFromLeader(leader, ref, await reader.readLog(ref));
}

/**
 * Extends a partly known log with the leader's later events.
 * @throws RepriseError `broker_unavailable`
 */
export async function extendFromLeader(
  leader: LeaderReader,
  ref: GenerationRef,
  known: LogSnapshot,
): Promise<LogSnapshot> {
  const tail = await leader.readTail(ref, known.streamSeq);
  return {
    events: [...known.events, ...tail.map(({ payload }) => payload)],
    streamSeq: tail.at(-1)?.streamSeq ?? known.streamSeq,
  };
}
