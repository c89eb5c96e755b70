import { setTimeout as delay } from "node:timers/promises";
import { decodeEvent, logSubject, Withdrawals, asSeq } from "@reprise/protocol";
import { createSeededRandom } from "@reprise/testkit";
import type { FaultRow } from "../rows/row.ts";
import type { FaultWorld } from "../world/fault-world.ts";
import { intrude } from "./intruder.ts";
import { judgeAcks, judgeLog } from "./judge-log.ts";
import { type FinalLog, judgeReaders } from "./judge-readers.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import { Trial } from "./trial.ts";
import type { Violation } from "./violation.ts";

export interface TrialResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** Lines that the services have logged as warnings and errors lately, where something was wrong. */
  readonly complaints: readonly string[];
  /** Number of hits, by the row's proof. */
  readonly hits: number;
  /** Duration in milliseconds. */
  readonly ms: number;
  readonly recoveriesMs: readonly number[];
  /** Events that were stored, and events that readers were shown: how much the verdict is about. */
  readonly stored: number;
  readonly shown: number;
  /** Those that the broker still keeps. */
  readonly logs: readonly FinalLog[];
  /** The trial was not over in time, or could not be healed: its remains may disturb the next one in the same world. */
  readonly spoilt: boolean;
}

/** Ends what hangs, on the busiest machine too, and before a test's own limit does. */
const LIMIT_MS = 240_000;
const POLL_MS = 50;
/** Of each service. */
const MOST_COMPLAINTS = 5;

/** Runs one trial and judges it. Never throws for what the platform, or the row, does wrong: that is the result. */
export async function runTrial(world: FaultWorld, row: FaultRow, seed: number): Promise<TrialResult> {
  const trial = new Trial(world, createSeededRandom(seed));
  const over = new AbortController();
  const intrusion = intrude(trial, over.signal);
  try {
    const limit = delay(LIMIT_MS, "late" as const, { signal: over.signal, ref: false });
    const end = await Promise.race([attempt(trial, row, over.signal), limit]);
    if (end === "late") blameHanging(trial);
    else if (trial.hits === 0) trial.blame("no_fault", `the fault hit nothing; it hits where ${row.proof}`);
    const logs = typeof end === "string" ? [] : end;
    if (logs.length > 0) trial.violations.push(...(await judge(trial, logs)));
    return {
      seed,
      violations: trial.violations,
      complaints: trial.violations.length > 0 ? collectComplaints(world) : [],
      hits: trial.hits,
      ms: performance.now() - trial.startedAt,
      recoveriesMs: trial.recoveriesMs,
      stored: logs.reduce((sum, { payloads }) => sum + payloads.length - 1, 0),
      shown: trial.readers.reduce((sum, { record }) => sum + record.seen.length, 0),
      logs: logs.filter(({ generation }) => !trial.sealed.has(generation)),
      spoilt: typeof end === "string",
    };
  } finally {
    over.abort();
    for (const reader of [...trial.readers, ...trial.disowned]) reader.leave();
    for (const { ref } of trial.generations) world.broker.acks.forget(logSubject(ref));
    await intrusion;
  }
}

/**
 * The row's own part, and then everything that has to come to an end. Returns the logs as they are then, or that the world
 * could not be healed.
 */
async function attempt(
  trial: Trial,
  row: FaultRow,
  over: AbortSignal,
): Promise<readonly FinalLog[] | "spoilt"> {
  const blame = (error: unknown) =>
    trial.blame("harness", error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  await row.run(trial).catch(blame);
  // Too late: another world may be there by now.
  if (over.aborted) return "spoilt";
  try {
    await trial.world.heal();
  } catch (error) {
    blame(error);
    return "spoilt";
  }
  await trial.ended();
  return Promise.all(trial.generations.map((generation) => readToEnd(trial, generation, over)));
}

/** A generation without readers has an end too. */
async function readToEnd(
  { world, sealed }: Trial,
  generation: TestedGeneration,
  over: AbortSignal,
): Promise<FinalLog> {
  for (;;) {
    const payloads = sealed.get(generation) ?? (await world.readLog(generation.ref).catch(() => []));
    if (payloads.some((payload) => END.test(payload)))
      return { generation, payloads: asShown(payloads), stored: payloads };
    await delay(POLL_MS, undefined, { signal: over });
  }
}

/** A log as readers get it in the end: without what moderation has withdrawn. */
function asShown(payloads: readonly string[]): readonly string[] {
  const withdrawals = new Withdrawals();
  for (const payload of payloads) withdrawals.apply(decodeEvent(payload));
  if (withdrawals.isEmpty) return payloads;
  return payloads.map((payload, seq) =>
    Buffer.from(withdrawals.project(asSeq(seq), Buffer.from(payload))).toString(),
  );
}

const END = /^\{"seq":[0-9]+,"type":"generation\.(?:completed|failed|cancelled)"/;

async function judge(trial: Trial, logs: readonly FinalLog[]): Promise<Violation[]> {
  const { acks } = trial.world.broker;
  const readers = trial.readers.map(({ record }) => record);
  const acked = new Map(logs.map((log) => [log, acks.of(logSubject(log.generation.ref))] as const));
  if ([...acked.values()].every(({ length }) => length === 0))
    trial.blame("harness", "no proxy has seen an acknowledgement of any event");
  return [
    ...[...acked].flatMap(([log, messages]) => judgeAcks(log, messages)),
    ...logs.flatMap(({ generation, payloads }) => judgeLog(generation, payloads)),
    ...(await judgeReaders(logs, readers)),
  ];
}

function collectComplaints({ deliveries, workers, moderations }: FaultWorld): string[] {
  return [...deliveries.map(({ slot }) => slot), ...workers, ...moderations].flatMap(({ name, lines }) =>
    lines
      .filter(({ level }) => level !== "info" && level !== "debug")
      .slice(-MOST_COMPLAINTS)
      .map((line) => `${name} said ${JSON.stringify(line)}`),
  );
}

function blameHanging(trial: Trial): void {
  const waiting = trial.readers.filter(({ record }) => !record.isDone);
  const [first] = waiting;
  trial.blame(
    "hung",
    `not over after ${LIMIT_MS} ms; ${waiting.length} of ${trial.readers.length} readers still wait` +
      (first ? `, ${first.record.name} of ${first.record.generation.id} at seq ${first.record.lastSeq}` : ""),
  );
}
