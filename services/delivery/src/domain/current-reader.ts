import { type GenerationLog, readCurrentLog } from "@reprise/stream";

/** A reader whose whole logs are current. Its other reads are those of any replica. */
export function createCurrentReader(log: Pick<GenerationLog, "reader" | "leader">): GenerationLog["reader"] {
  return { ...log.reader, readLog: (ref) => readCurrentLog(log, ref) };
}
