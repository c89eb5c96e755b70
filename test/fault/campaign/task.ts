import { ROWS } from "../rows/all.ts";
import type { FaultRow } from "../rows/row.ts";
import type { TrialResult } from "../trial/run-trial.ts";
import { type RowResult, toRowResult } from "./row-result.ts";
import { runRow } from "./run-row.ts";
import type { WorldPool } from "./run-row.ts";

/** Some trials of one row, which one process runs. Plain data: it goes from one process to another. */
export interface Task {
  readonly row: string;
  readonly trials: number;
  /** Of the first trial; the next one has the next number. */
  readonly seed: number;
}

export interface SplitOptions {
  /** Of each row; undefined for the short form. */
  readonly trials: number | undefined;
  readonly seed: number;
  /** How many trials a task has at most. */
  readonly most: number;
}

/** What `runTask` needs besides its task. */
export interface TaskContext {
  readonly worlds: WorldPool;
  readonly onTrial: (result: TrialResult) => void;
  /** No further trial is begun once it is aborted. */
  readonly signal: AbortSignal;
}

const SHORT_TRIALS = 2;

/** In the order of the rows, so that those with the same world follow one another. */
export function splitIntoTasks(rows: readonly FaultRow[], { trials, seed, most }: SplitOptions): Task[] {
  return rows.flatMap(({ name, shortTrials = SHORT_TRIALS }) => {
    const all = trials ?? shortTrials;
    return Array.from({ length: Math.ceil(all / most) }, (_, index): Task => {
      const first = index * most;
      return { row: name, trials: Math.min(most, all - first), seed: seed + first };
    });
  });
}

/** @returns undefined when it was ended before its first trial */
export async function runTask(task: Task, context: TaskContext): Promise<RowResult | undefined> {
  const row = ROWS.find(({ name }) => name === task.row)!;
  const startedAt = performance.now();
  const results = await runRow(row, { ...context, trials: task.trials, seed: task.seed });
  return results.length === 0
    ? undefined
    : toRowResult(row, results, (performance.now() - startedAt) / 1_000);
}
