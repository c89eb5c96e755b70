import { setTimeout as delay } from "node:timers/promises";
import { decodeEvent, isTerminal, JOBS_STREAM, Transcript } from "@reprise/protocol";
import type { Reader, ReaderEnd, ReaderRecord } from "../../readers/reader-record.ts";
import { callNode } from "../../trial/call.ts";
import { type LogWatch, type Told, watchLog } from "../../trial/log-watch.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { GenerationOptions, Trial } from "../../trial/trial.ts";
import type { ViolationKind } from "../../trial/violation.ts";
import type { FaultWorld } from "../../world/fault-world.ts";
import type { FaultRow } from "../row.ts";
import { readersServedBy } from "../worker/takeover.ts";

/** A generation under way, with its readers from before the loss. */
interface Load {
  readonly generation: TestedGeneration;
  readonly readers: readonly Reader[];
  readonly watch: LogWatch;
}

/** From a few that end before the loss to some that last for seconds. */
const TOKENS = { least: 30, most: 250 };
const BEFORE = 8;
const AFTER = 3;
const LONGEST_LOSS_MS = 1_500;
/** Time from a takeover to the loss. */
const LONGEST_OVERTAKEN_MS = 600;
const LOG_LOST = '"reason":"log_lost"';
/** By then a worker that holds a generation of which nothing is left has put it back; where a worker holds it, more time is allowed. */
const PUT_BACK_MS = { held: 120_000, orphaned: 10_000 };
/** The answers to a reader whose cursor's event is lost. */
const TOLD = new Set(["events_lost", "cursor_invalid"]);
/** And while there is nothing left of the log, or nothing but its checkpoint. */
const GONE = new Set(["generation_not_found", "generation_expired"]);

/**
 * A store that goes back to an earlier moment, as after a power loss with a lazy fsync. What is promised, and checked here:
 *
 * - A log that the store had begun before the copy ends once, and says what the undisturbed run says: lost text is put back by
 *   the worker that holds it or, where that has died too or has ended the generation, made again.
 * - A generation that was created after the copy is put back by its worker. Where the worker had ended it, or has died too, no party
 *   holds it any more: it is lost, with its create, and is answered 404.
 * - A reader that was shown lost events is shown nothing of what took their place: it is refused with `events_lost` or
 *   `cursor_invalid`, and where nothing is left of the log with 404 or 410 until the worker has put it back. Unless it had read to
 *   an end before the loss, whose text then is right all the same. A reader that was shown none of them notices nothing.
 */
export const storeRolledBack: FaultRow = {
  name: "store-rolled-back",
  about:
    "the broker's store goes back by up to 1.5 s under load, half of the time a worker dies as well; from the loss until the broker has the next event of each generation",
  proof: "an event that the broker had told of is not in the log any more",
  world: {},
  shortTrials: 1,
  run: (trial) => rollBack(trial, (loads) => (trial.random.chance(0.5) ? killWorker(trial, loads) : [])),
};

/**
 * The same where no process is left that knows of the loss. A worker is stopped before, so that some generations lose a whole attempt, whose
 * number the next one gets: its readers must not be taken for readers of that one.
 */
export const powerLoss: FaultRow = {
  name: "power-loss",
  about:
    "every process is killed under load, and the broker's store goes back by up to 1.5 s, attempts that others had taken over included, and half of the time the queue is lost as a whole; from the loss until the broker has the next event of each generation, the start of everything included",
  proof: "an event that the broker had told of is not in the log any more",
  world: {},
  shortTrials: 1,
  run: (trial) => rollBack(trial, (loads) => killEverything(trial, loads)),
};

/** @param strike kills the processes that die with the store; returns the generations that no worker holds then */
async function rollBack(
  trial: Trial,
  strike: (loads: readonly Load[]) => Promise<readonly Load[]> | readonly Load[],
): Promise<void> {
  const { random, world } = trial;
  const { server } = world.broker;
  const loads = await startLoads(trial, BEFORE);
  await delay(random.integer(0, 500));
  await server.snapshotStore();
  const young = await startLoads(trial, AFTER);
  await delay(random.integer(0, LONGEST_LOSS_MS));
  const all = [...loads, ...young];
  const orphans = await strike(all);
  const lostAt = performance.now();
  const lastWords = untilDisconnected(world);
  const restoring = server.restoreStore();
  await lastWords;
  const before = new Map(all.map(({ generation, watch }) => [generation, [...watch.told]]));
  await restoring;
  for (const { readers } of all) for (const reader of readers) trial.disown(reader);
  const isDark = orphans.length === all.length;
  if (isDark) {
    if (random.chance(0.5)) await loseQueue(world);
    await world.heal();
  }
  await Promise.all(
    all.map((load) => {
      const told = before.get(load.generation)!;
      const hadEnded = told.some(({ event }) => isTerminal(event.type));
      const isHeld = !hadEnded && !orphans.includes(load);
      return followUp(trial, load, { lostAt, told, isHeld, isYoung: young.includes(load), isDark });
    }),
  );
}

/** Resolves when the server that is there now has told this process all that it ever will, and no other one has told it anything. */
async function untilDisconnected({ connection }: FaultWorld): Promise<void> {
  for await (const { type } of connection.status()) if (type === "disconnect") return;
}

/** The state of a generation before the loss. */
interface Before {
  readonly lostAt: number;
  readonly told: readonly Told[];
  /** True if a worker still had it. */
  readonly isHeld: boolean;
  /** True if it was created after the copy. */
  readonly isYoung: boolean;
  /** True if there was no platform at all for a while, longer than some readers' patience. */
  readonly isDark: boolean;
}

function startLoads(trial: Trial, count: number): Promise<Load[]> {
  const start = async (): Promise<Load> => {
    const options: GenerationOptions = {
      tokens: trial.random.integer(TOKENS.least, TOKENS.most),
      tokensPerSecond: 60,
      policy: { max_attempts: 5 },
    };
    const generation = await trial.create(options);
    const watch = await watchLog(trial.world, generation);
    const readers = (["raw", "sdk"] as const).map((kind) => trial.read(generation, kind));
    await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length > 3)));
    return { generation, readers, watch };
  };
  return Promise.all(Array.from({ length: count }, start));
}

/** @returns the generations that no worker holds now */
async function killWorker({ random, world }: Trial, loads: readonly Load[]): Promise<Load[]> {
  const victim = random.pick(world.workers);
  const served = loads.filter(({ readers }) => readersServedBy(world, victim, readers).length > 0);
  await victim.kill();
  return served;
}

async function killEverything({ random, world }: Trial, loads: readonly Load[]): Promise<readonly Load[]> {
  const { workers, deliveries } = world;
  const stopped = random.pick(workers);
  await stopped.stop();
  await delay(random.integer(50, LONGEST_OVERTAKEN_MS));
  const others = workers.filter((worker) => worker !== stopped);
  await Promise.all([...others, ...deliveries.map(({ slot }) => slot)].map((slot) => slot.kill()));
  return loads;
}

/** Each stream is written to the disk by itself: logs may be there and their jobs not. */
async function loseQueue({ connection }: FaultWorld): Promise<void> {
  for (let isGone = false; !isGone;) {
    const answer = await connection.request(`$JS.API.STREAM.DELETE.${JOBS_STREAM}`).catch(() => undefined);
    isGone = answer?.json<{ success?: boolean }>().success === true;
  }
}

async function followUp(
  trial: Trial,
  { generation, readers, watch }: Load,
  { lostAt, told, isHeld, isYoung, isDark }: Before,
): Promise<void> {
  using _ = watch;
  const mine = readers.map(({ record }) => record);
  const putBackMs = isYoung && !isHeld ? PUT_BACK_MS.orphaned : PUT_BACK_MS.held;
  if (await isThere(trial, generation, putBackMs)) mine.push(...(await readAnew(trial, generation)));
  else {
    trial.forget(generation);
    if (isYoung && !isHeld) await judgeGone(trial, generation);
    else trial.blame("answer", `${generation.id} is gone, though its worker held it`);
  }
  const payloads = await trial.world.readLog(generation.ref);
  const hasLost = told.some(({ event, payload }) => payloads[event.seq] !== payload);
  if (hasLost) trial.hit();
  if (hasLost && isHeld && !payloads.some((payload) => payload.includes(LOG_LOST)))
    trial.blame("log", `${generation.id}: its worker has not put back what was lost`);
  for (const record of mine) judgeShown(trial, record, await record.done, { payloads, told, isDark });
  const next = watch.told.find(({ at }) => at > lostAt && !told.some((each) => each.at === at));
  if (next) trial.recovered(next.at - lostAt);
}

/**
 * Reads until the end, from the start again after each refusal: a node that has not noticed yet shows what it had in memory.
 * @returns the readings that were refused; the last one is for the judge
 */
async function readAnew(trial: Trial, generation: TestedGeneration): Promise<ReaderRecord[]> {
  const refused: ReaderRecord[] = [];
  for (;;) {
    const reader = trial.read(generation, "raw");
    const end = await reader.record.done;
    if (end.type !== "refused" || !TOLD.has(end.code)) return refused;
    trial.disown(reader);
    refused.push(reader.record);
  }
}

async function isThere({ world }: Trial, { ref }: TestedGeneration, limitMs: number): Promise<boolean> {
  for (const startedAt = performance.now(); performance.now() - startedAt < limitMs; await delay(100)) {
    const last = await world.log.leader.readLast(ref).catch(() => undefined);
    if (last) return true;
  }
  return false;
}

async function judgeGone(trial: Trial, { id, tenant }: TestedGeneration): Promise<void> {
  for (const node of trial.world.deliveries.keys()) {
    const answer = await callNode(trial.world, { node, tenant, method: "GET", path: `/${id}` });
    if (answer?.status !== 404) trial.blame("answer", `${id} is gone, and was answered ${answer?.status}`);
  }
}

/** Compares the events that a reader was shown before the loss and after it with the log as it was told before, and as it is in the end. */
function judgeShown(
  trial: Trial,
  { name, generation, seen }: ReaderRecord,
  end: ReaderEnd,
  { payloads, told, isDark }: Pick<Before, "told" | "isDark"> & { readonly payloads: readonly string[] },
): void {
  const blame = (kind: ViolationKind, what: string) =>
    trial.blame(kind, `${name} of ${generation.id}: ${what}`);
  const disorder = seen.findIndex(({ seq }, index) => seq !== index + 1);
  if (disorder >= 0) blame("reordered", `seq ${seen[disorder]!.seq} where ${disorder + 1} should be`);
  const kept = seen.findIndex(({ seq, payload }) => payloads[seq] !== payload);
  const lost = kept < 0 ? [] : seen.slice(kept);
  const old = new Map<number, string>(told.map(({ event, payload }) => [event.seq, payload]));
  const mixed = lost.find(({ seq, payload }) => (old.get(seq) ?? payload) !== payload);
  if (mixed) blame("unknown", `seq ${mixed.seq} is no lost event, after lost ones from ${lost[0]!.seq} on`);
  if (end.type === "refused") {
    if (end.code === "connection_lost" && isDark) return;
    const isTold = TOLD.has(end.code) || (GONE.has(end.code) && lost.length === seen.length);
    if (!isTold || lost.length === 0)
      blame("refused", `${end.code} after ${seen.length}, ${lost.length} lost`);
  } else if (lost.length === 0) {
    if (seen.length !== payloads.length - 1) blame("lost", `${seen.length} of ${payloads.length - 1} events`);
  } else if (textOf(seen) !== generation.wholeText)
    blame("text", `it read to an end that is lost, with another text`);
}

function textOf(seen: ReaderRecord["seen"]): string {
  const transcript = new Transcript();
  for (const { payload } of seen) transcript.apply(decodeEvent(payload));
  return transcript.text;
}
