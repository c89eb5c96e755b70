import type { FaultRow } from "../rows/row.ts";
import { type FinalLog } from "../trial/judge-readers.ts";
import { runTrial, type TrialResult } from "../trial/run-trial.ts";
import type { Violation } from "../trial/violation.ts";
import { type FaultWorld, startFaultWorld } from "../world/fault-world.ts";

export interface RunRowOptions {
  readonly trials: number;
  /** Of the first trial; the next one has the next number. */
  readonly seed: number;
  readonly onTrial?: (result: TrialResult) => void;
  /** No further trial is begun once it is aborted. */
  readonly signal?: AbortSignal;
}

/** Runs the trials of a row one after the other in one world, which is replaced after a trial that hung. */
export async function runRow(row: FaultRow, options: RunRowOptions): Promise<TrialResult[]> {
  const { trials, seed, onTrial, signal } = options;
  const results: TrialResult[] = [];
  let world: FaultWorld | undefined;
  let logs: FinalLog[] = [];
  const closeWorld = async (): Promise<void> => {
    const last = results.at(-1);
    if (world && last && !last.hung) {
      const late = await judgeAftermath(world, logs);
      results[results.length - 1] = { ...last, violations: [...last.violations, ...late] };
    }
    await world?.[Symbol.asyncDispose]();
    world = undefined;
    logs = [];
  };
  try {
    while (results.length < trials && signal?.aborted !== true) {
      world ??= await startFaultWorld(row.world);
      const result = await runTrial(world, row, seed + results.length);
      results.push(result);
      logs.push(...result.logs);
      if (result.hung) await closeWorld();
      onTrial?.(result);
    }
  } finally {
    await closeWorld();
  }
  return results;
}

/** A log that has ended stays as it is: a worker that was away for long might think otherwise. */
async function judgeAftermath(world: FaultWorld, logs: readonly FinalLog[]): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { generation, payloads } of logs) {
    const last = await world.log.reader.readLast(generation.ref);
    const isSame = last !== undefined && Buffer.from(last.payload).toString() === payloads.at(-1);
    if (!isSame)
      violations.push({
        kind: "log",
        what: `${generation.id}: its last event is another than when it had ended`,
      });
  }
  return violations;
}
