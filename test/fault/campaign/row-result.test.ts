import { expect, test } from "vitest";
import type { TrialResult } from "../trial/run-trial.ts";
import { formatPage, formatSum, formatViolations } from "./format-table.ts";
import { toRecovery, toRowResult } from "./row-result.ts";

const ROW = { name: "worker-sigkill", about: "a worker is killed", proof: "it ran something" };

function trialResult(seed: number, changes: Partial<TrialResult> = {}): TrialResult {
  const nothing = { violations: [], complaints: [], recoveriesMs: [], logs: [], spoilt: false };
  return { seed, ...nothing, hits: 4, ms: 2_000, stored: 10, shown: 20, ...changes };
}

test("a row has the nearest rank of all trials' recovery times, and each violation with its seed", () => {
  const recoveriesMs = Array.from({ length: 100 }, (_, index) => 100 - index);
  const violation = { kind: "lost", what: "raw-reader 1: seq 3" } as const;
  const trials = [trialResult(5, { recoveriesMs }), trialResult(6, { violations: [violation], hits: 1 })];
  const result = toRowResult(ROW, trials, 3);
  expect(result).toMatchObject({ trials: 2, stored: 20, shown: 40, hits: { fewest: 1, all: 5 } });
  expect(toRecovery(result.recoveriesMs)).toEqual({ samples: 100, p50: 50, p99: 99, max: 100 });
  expect(formatViolations([result])).toBe("worker-sigkill, seed 6: lost: raw-reader 1: seq 3");
});

test("a row is a line of docs/faults.md, with dashes if nothing had to recover", () => {
  const rows = [
    toRowResult(ROW, [trialResult(5, { recoveriesMs: [1_200.4] })], 3),
    toRowResult({ ...ROW, name: "pace" }, [trialResult(6)], 4),
  ];
  expect(formatPage(rows).split("\n").slice(2)).toEqual([
    "| `worker-sigkill` | A worker is killed | 4 | 1,200 | 1,200 | 1,200 |",
    "| `pace` | A worker is killed | 4 | – | – | – |",
  ]);
  expect(formatSum(rows)).toBe(
    "2 trials, 20 events stored, 40 shown to readers and compared byte for byte, 8 hits: 0 violations.",
  );
});
