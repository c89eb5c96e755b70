import type { GenerationLog } from "@reprise/log";
import { vi } from "vitest";

const PATIENCE_MS = 60_000;

/** Asks again what was not answered in time. */
function patiently<T>(ask: () => Promise<T>): Promise<T> {
  return vi.waitFor(ask, { timeout: PATIENCE_MS });
}

/** A log over a broker with which nothing is wrong, but which takes its time on a busy machine. */
export function createPatientLog(log: GenerationLog): GenerationLog {
  return {
    ...log,
    publish: (subject, payload, options) =>
      log.publish(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    publishCheckpoint: (subject, payload, options) =>
      log.publishCheckpoint(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    leader: {
      readTail: (...of) => patiently(() => log.leader.readTail(...of)),
      readLast: (ref) => patiently(() => log.leader.readLast(ref)),
    },
    get connected() {
      return log.connected;
    },
  };
}
