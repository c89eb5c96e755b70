import type { GenerationLog } from "@reprise/stream";
import { eventually, PATIENCE_MS } from "@reprise/testkit";

/** A log over a broker with which nothing is wrong, but which takes its time on a busy machine. */
export function createPatientLog(log: GenerationLog): GenerationLog {
  return {
    ...log,
    publish: (subject, payload, options) =>
      log.publish(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    publishCheckpoint: (subject, payload, options) =>
      log.publishCheckpoint(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    leader: {
      readTail: (...of) => eventually(() => log.leader.readTail(...of)),
      readLast: (ref) => eventually(() => log.leader.readLast(ref)),
    },
    get connected() {
      return log.connected;
    },
  };
}
