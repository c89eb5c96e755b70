import { abandonedSince } from "./abandoned-since.ts";
import { type Broker, type GenerationLog, readPresence } from "@reprise/log";
import { isTerminal, peekType, type UnixMs } from "@reprise/protocol";
import type { Absence, Observation, Phase, WatchedJob } from "./plan.ts";

export interface InspectOptions {
  log: GenerationLog;
  broker: Broker;
  leaseMs: number;
  /** By the broker's clock. */
  nowMs: UnixMs;
  /** From when on absence can be judged, by the same clock. */
  judgedFromMs: UnixMs;
}

/**
 * Sees how far a generation is: one direct get, and where absence ends it two requests or more for presence records.
 * @throws RepriseError `broker_unavailable`
 */
export async function inspect(
  { job, queuedAtMs, policy }: WatchedJob,
  options: InspectOptions,
): Promise<Observation> {
  const { log, broker, leaseMs, nowMs, judgedFromMs } = options;
  const last = await log.reader.readLast(job.ref);
  const phase = last ? phaseOf(peekType(last.payload)) : "absent";
  if (phase === "ended" || policy.on_disconnect === "keep") return { atMs: nowMs, phase };
  const { records, brokerTimeMs } = await readPresence(broker.main, job.ref);
  const absence: Absence = {
    sinceMs: abandonedSince(records, { createdAtMs: queuedAtMs, nowMs: brokerTimeMs, leaseMs }),
    wasRead: records.length > 0,
    judgedFromMs,
  };
  return { atMs: brokerTimeMs, phase, absence };
}

/** An event of a type that this version does not know, behind an end, looks like one before it; deciding reads the whole log. */
function phaseOf(type: string): Phase {
  if (isTerminal(type)) return "ended";
  return type === "generation.requested" ? "queued" : "begun";
}
