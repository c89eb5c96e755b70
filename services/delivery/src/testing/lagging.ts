import { asStreamSeq } from "@reprise/protocol";
import type { GenerationLog } from "@reprise/stream";

/** The log as a replica has it that lacks its last events. */
export function lagging(log: GenerationLog, by: number): GenerationLog {
  const readLog: GenerationLog["reader"]["readLog"] = async (ref) => {
    const events = (await log.leader.readTail(ref, asStreamSeq(0))).slice(0, -by);
    return { events: events.map(({ payload }) => payload), streamSeq: events.at(-1)!.streamSeq };
  };
  return { ...log, reader: { ...log.reader, readLog } };
}
