import { untilAnswered } from "@reprise/testkit";
import type { FaultRow } from "../rows/row.ts";
import type { FinalLog } from "../trial/judge-readers.ts";
import { runTrial, type TrialResult } from "../trial/run-trial.ts";
import type { Violation } from "../trial/violation.ts";
import type { FaultWorld } from "../world/fault-world.ts";
import type { WorldPool } from "./world-pool.ts";

export interface RunRowOptions {
  readonly worlds: WorldPool;
  readonly trials: number;
  /** Of the first trial; the next one has the next number. */
  readonly seed: number;
  readonly onTrial?: (result: TrialResult) => void;
  /** No further trial is begun once it is aborted. */
  readonly signal?: AbortSignal;
}

/** Runs the trials of a row one after the other. The last result has what was found wrong when all were over. */
export async function runRow(row: FaultRow, options: RunRowOptions): Promise<TrialResult[]> {
  const { worlds, trials, seed, onTrial, signal } = options;
  const results: TrialResult[] = [];
  while (results.length < trials && signal?.aborted !== true) {
    const world = await worlds.take(row.world).catch((error: unknown) => String(error));
    let result =
      typeof world === "string"
        ? toUnstarted(seed + results.length, world)
        : await runTrial(world, row, seed + results.length);
    if (typeof world === "string" || result.spoilt) await worlds.discard();
    else if (results.length === trials - 1) {
      const logs = [...results, result].flatMap((each) => each.logs);
      result = { ...result, violations: [...result.violations, ...(await judgeAftermath(world, logs))] };
    }
    results.push(result);
    onTrial?.(result);
  }
  return results;
}

/** A platform that did not start has failed its trial. */
function toUnstarted(seed: number, why: string): TrialResult {
  const violations: readonly Violation[] = [{ kind: "harness", what: `the world did not start: ${why}` }];
  return { seed, violations, complaints: [], recoveriesMs: [], stored: 0, shown: 0, logs: [], spoilt: true };
}

/** A log that has ended stays as it is: a worker that was away for long might think otherwise. */
async function judgeAftermath({ log }: FaultWorld, logs: readonly FinalLog[]): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { generation, payloads } of logs) {
    const last = await untilAnswered(() => log.leader.readLast(generation.ref));
    const isSame = last !== undefined && Buffer.from(last.payload).toString() === payloads.at(-1);
    const what = `${generation.id}: its last event is another than when it had ended`;
    if (!isSame) violations.push({ kind: "log", what });
  }
  return violations;
}
