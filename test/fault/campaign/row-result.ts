import type { FaultRow } from "../rows/row.ts";
import type { TrialResult } from "../trial/run-trial.ts";
import type { Violation } from "../trial/violation.ts";

/** The result of all trials of a row. Times in milliseconds. */
export interface RowResult {
  readonly row: string;
  readonly about: string;
  readonly proof: string;
  readonly trials: number;
  /** Hits of the faults, by the row's proof: in the trial with the fewest, and in all. */
  readonly hits: { readonly fewest: number; readonly all: number };
  /** Number of stored events, and of those that readers were shown: what the verdict is about. */
  readonly stored: number;
  readonly shown: number;
  readonly violations: readonly (Violation & { readonly seed: number })[];
  readonly recoveriesMs: readonly number[];
  /** Of all trials together, the start of worlds included. */
  readonly seconds: number;
}

export interface Recovery {
  readonly samples: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function toRowResult(
  { name, about, proof }: Pick<FaultRow, "name" | "about" | "proof">,
  results: readonly TrialResult[],
  seconds: number,
): RowResult {
  const sum = (of: (result: TrialResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  return {
    row: name,
    about,
    proof,
    hits: { fewest: Math.min(...results.map(({ hits }) => hits)), all: sum(({ hits }) => hits) },
    trials: results.length,
    stored: sum(({ stored }) => stored),
    shown: sum(({ shown }) => shown),
    violations: results.flatMap(({ seed, violations }) =>
      violations.map((violation) => ({ seed, ...violation })),
    ),
    recoveriesMs: results.flatMap(({ recoveriesMs }) => recoveriesMs.map(toTenths)),
    seconds,
  };
}

function toTenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The nearest rank of what was measured, never a value in between. Undefined where nothing had to recover. */
export function toRecovery(times: readonly number[]): Recovery | undefined {
  if (times.length === 0) return undefined;
  const sorted = times.toSorted((a, b) => a - b);
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
  return { samples: sorted.length, p50: rank(0.5), p99: rank(0.99), max: rank(1) };
}
