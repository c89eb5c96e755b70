import { untilAnswered } from "@reprise/testkit";
import type { FaultRow } from "../rows/row.ts";
import type { FinalLog } from "../trial/judge-readers.ts";
import { runTrial, type TrialResult } from "../trial/run-trial.ts";
import type { Violation } from "../trial/violation.ts";
import { type FaultWorld, startFaultWorld } from "../world/fault-world.ts";
import type { WorldOptions } from "../world/world-options.ts";

export interface RunRowOptions {
  readonly worlds: WorldPool;
  readonly trials: number;
  /** Of the first trial; the next one has the next number. */
  readonly seed: number;
  readonly onTrial?: (result: TrialResult) => void;
  /** No further trial is begun once it is aborted. */
  readonly signal?: AbortSignal;
}

/** Runs the trials of a row, as many at once as it permits. The last result has what was found wrong when all were over. */
export async function runRow(row: FaultRow, options: RunRowOptions): Promise<TrialResult[]> {
  const { worlds, trials, seed, onTrial, signal } = options;
  const results: TrialResult[] = [];
  // Of the world that is there now.
  let logs: readonly FinalLog[] = [];
  while (results.length < trials && signal?.aborted !== true) {
    const count = Math.min(row.together ?? 1, trials - results.length);
    const seeds = Array.from({ length: count }, (_, index) => seed + results.length + index);
    const world = await worlds.take(row.world).catch((error: unknown) => String(error));
    const batch =
      typeof world === "string"
        ? seeds.map((each) => toUnstarted(each, world))
        : await Promise.all(seeds.map((each) => runTrial(world, row, each)));
    logs = [...logs, ...batch.flatMap((result) => result.logs)];
    if (typeof world === "string" || batch.some(({ spoilt }) => spoilt)) {
      await worlds.discard();
      logs = [];
    } else if (results.length + count === trials) {
      const last = batch.pop()!;
      batch.push({ ...last, violations: [...last.violations, ...(await judgeAftermath(world, logs))] });
    }
    results.push(...batch);
    for (const result of batch) onTrial?.(result);
  }
  return results;
}

/** A platform that did not start has failed its trial. */
function toUnstarted(seed: number, why: string): TrialResult {
  const violations: readonly Violation[] = [{ kind: "harness", what: `the world did not start: ${why}` }];
  return {
    seed,
    violations,
    complaints: [],
    hits: 0,
    ms: 0,
    recoveriesMs: [],
    stored: 0,
    shown: 0,
    logs: [],
    spoilt: true,
  };
}

/** A log that has ended stays as it is: a worker that was away for long might think otherwise. */
async function judgeAftermath({ log }: FaultWorld, logs: readonly FinalLog[]): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { generation, stored } of logs) {
    const last = await untilAnswered(() => log.leader.readLast(generation.ref));
    const isSame = last !== undefined && Buffer.from(last.payload).toString() === stored.at(-1);
    const what = `${generation.id}: its last event is another than when it had ended`;
    if (!isSame) violations.push({ kind: "log", what });
  }
  return violations;
}

/** Keeps a world for the rows that follow, as long as they ask for the same: most of a short row's time is the start of its world. */
export class WorldPool implements AsyncDisposable {
  #world: FaultWorld | undefined;

  /** The world that is there, if it is such a one, or a new one in its place. */
  async take(options: WorldOptions): Promise<FaultWorld> {
    if (this.#world && toKey(this.#world.options) === toKey(options)) return this.#world;
    await this.discard();
    this.#world = await startFaultWorld(options);
    return this.#world;
  }

  /** After a trial that hung, whose rest might disturb the next one. */
  async discard(): Promise<void> {
    const world = this.#world;
    this.#world = undefined;
    await world?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }
}

/** Rows write their options down in the same order. */
function toKey(options: WorldOptions): string {
  return JSON.stringify(options);
}
