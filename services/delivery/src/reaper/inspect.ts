import { abandonedSince } from "./abandoned-since.ts";
import { type Broker, getLastMessage } from "@reprise/broker";
import { type GenerationLog, type StoredEvent } from "@reprise/stream";
import { readPresence } from "@reprise/jobs";
import {
  asUnixMs,
  type GenerationRef,
  isTerminal,
  NEVER,
  peekSeq,
  peekType,
  plusMs,
  producerSubject,
  READERS_STREAM,
  toUnixMs,
  type UnixMs,
} from "@reprise/protocol";
import {
  type Absence,
  type Heard,
  type Observation,
  type Phase,
  queueEndOf,
  type WatchedJob,
} from "./plan.ts";

/**
 * Returns when the last of the turns that a turn waits for has ended, by the broker's clock; `NEVER` while one is running. The extension for conversations
 * implements it.
 */
export type WaitedUntil = (refs: readonly GenerationRef[]) => Promise<UnixMs | undefined>;

export interface InspectOptions {
  log: GenerationLog;
  broker: Broker;
  leaseMs: number;
  /** By the broker's clock. */
  nowMs: UnixMs;
  /** From when on absence can be judged, by the same clock. */
  judgedFromMs: UnixMs;
  /** Undefined: this node has no conversations, and leaves turns that wait to other nodes. */
  waitedUntil?: WaitedUntil | undefined;
}

/**
 * Sees how far a generation is: one direct get, where absence ends it two requests or more for presence records, and where a turn's
 * time in the queue seems to be up a request for each turn that it waits for.
 * @throws RepriseError `broker_unavailable`
 */
export async function inspect(watched: WatchedJob, options: InspectOptions): Promise<Observation> {
  const { job, queuedAtMs, policy } = watched;
  const { log, broker, leaseMs, nowMs, judgedFromMs } = options;
  const last = await log.reader.readLast(job.ref);
  const phase = last ? phaseOf(peekType(last.payload)) : "absent";
  if (phase === "ended") return { atMs: nowMs, phase };
  const waitedUntilMs = await readWaitedUntil(watched, phase, options);
  const heard = phase === "begun" && last ? await readHeard(watched, last, options) : undefined;
  if (policy.on_disconnect === "keep") return { atMs: nowMs, phase, waitedUntilMs, heard };
  const { records, brokerTimeMs } = await readPresence(broker.main, job.ref);
  const absence: Absence = {
    sinceMs: abandonedSince(records, { createdAtMs: queuedAtMs, nowMs: brokerTimeMs, leaseMs }),
    wasRead: records.length > 0,
    judgedFromMs,
  };
  return { atMs: brokerTimeMs, phase, absence, waitedUntilMs, heard };
}

/**
 * Returns when a producer was last heard: by an event, or by a record that it lives, which is read where the event alone would end the generation. While
 * the broker was away it could not be heard.
 */
async function readHeard(
  { job, silenceMs }: WatchedJob,
  { storedAt = "", payload }: StoredEvent,
  { broker, leaseMs, nowMs, judgedFromMs }: InspectOptions,
): Promise<Heard | undefined> {
  if (silenceMs === undefined) return undefined;
  const storedMs = toUnixMs(storedAt);
  const seq = peekSeq(payload);
  if (plusMs(storedMs, silenceMs) > nowMs) return { atMs: storedMs, seq };
  const record = await getLastMessage(broker.main, READERS_STREAM, producerSubject(job.ref));
  const heardMs = Math.max(storedMs, record ? toUnixMs(record.time) : storedMs);
  return { atMs: asUnixMs(Math.max(heardMs, judgedFromMs - leaseMs)), seq };
}

/** Asked only where it decides. */
async function readWaitedUntil(
  watched: WatchedJob,
  phase: Phase,
  { nowMs, waitedUntil }: InspectOptions,
): Promise<UnixMs | undefined> {
  const { waitsFor = [], job } = watched;
  const isDue = (phase === "queued" || phase === "absent") && queueEndOf(watched, { atMs: nowMs }) <= nowMs;
  if (!isDue || waitsFor.length === 0) return undefined;
  if (!waitedUntil) return NEVER;
  return waitedUntil(waitsFor.map((generation) => ({ tenant: job.ref.tenant, generation })));
}

/** An event of unknown type after an end looks like one before it. Deciding reads the whole log. */
function phaseOf(type: string): Phase {
  if (isTerminal(type)) return "ended";
  return type === "generation.requested" ? "queued" : "begun";
}
