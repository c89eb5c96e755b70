import { type LoadClient, startLoadClient } from "../load/load-client.ts";
import type { Percentiles } from "../measure/histogram.ts";
import type { TargetName, TargetSettings } from "../targets/all.ts";
import type { RunningTarget } from "../targets/target.ts";

/** Arguments of every scenario. */
export interface RunContext {
  readonly settings: TargetSettings;
  /** The systems under test, in the order in which they run. */
  readonly targets: readonly TargetName[];
  /** A short run to see that everything works; its figures are a hint. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  /** Prints one line of progress. */
  readonly say: (line: string) => void;
}

export interface ScenarioResult {
  readonly scenario: string;
  /** The load, for people. */
  readonly what: string;
  /** Lines of the table. */
  readonly rows: readonly object[];
  /** All rounds in the order in which they ran, if there are several. */
  readonly rounds?: readonly (readonly object[])[];
}

/** One system under test and its readers: fresh processes for every run. */
export interface Run<Target extends RunningTarget> extends AsyncDisposable {
  readonly load: LoadClient;
  readonly target: Target;
}

/**
 * Starts both at the same time. If one can't be started, the other is ended again.
 * @throws the signal's reason when it has aborted; what the target throws
 */
export async function startRun<Target extends RunningTarget>(
  signal: AbortSignal,
  startTarget: () => Promise<Target>,
): Promise<Run<Target>> {
  signal.throwIfAborted();
  await using stack = new AsyncDisposableStack();
  const [load, target] = await Promise.allSettled([startLoadClient(), startTarget()]);
  if (load.status === "fulfilled") stack.use(load.value);
  if (target.status === "fulfilled") stack.use(target.value);
  if (load.status === "rejected") throw load.reason;
  if (target.status === "rejected") throw target.reason;
  const running = stack.move();
  return { load: load.value, target: target.value, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

interface Measured {
  readonly latencyMicros: Percentiles;
  readonly missing: number;
  readonly disordered: number;
}

/**
 * Measures each variant once per round, in turn. `rows` has each variant's best round, the one with the lowest p99 of those without a missing or
 * disordered token, if there are any: a disturbed machine is only ever slower. `worstP99Micros` and `wrong` are over all rounds.
 */
export async function bestOfRounds<V, R extends Measured>(
  variants: readonly V[],
  count: number,
  measure: (variant: V, round: number) => Promise<R>,
) {
  const rounds: R[][] = [];
  for (let round = 1; round <= count; round++) {
    const row: R[] = [];
    for (const variant of variants) row.push(await measure(variant, round));
    rounds.push(row);
  }
  const rows = variants.map((_, index) => {
    const all = rounds.map((row) => row[index]!);
    const complete = all.filter(isComplete);
    const best = (complete.length > 0 ? complete : all).reduce((one, other) =>
      p99Of(other) < p99Of(one) ? other : one,
    );
    return {
      ...best,
      worstP99Micros: Math.max(...all.map(p99Of)),
      wrong: all.reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0),
    };
  });
  return { rows, rounds };
}

/** True if the readers got each token once, in order. */
export function isComplete({ missing, disordered }: Measured): boolean {
  return missing === 0 && disordered === 0;
}

const p99Of = ({ latencyMicros }: Measured) => latencyMicros.p99;
