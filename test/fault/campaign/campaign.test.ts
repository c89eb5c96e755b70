import { describe, expect, test } from "vitest";
import type { TrialResult } from "../trial/run-trial.ts";
import { ROWS } from "../rows/all.ts";
import { formatPage, formatSum, formatTable, formatViolations } from "./format-table.ts";
import { mergeCampaigns, mergeRowResults, toRecovery, toRowResult } from "./row-result.ts";
import { splitIntoTasks } from "./task.ts";

const ROW = { name: "worker-sigkill", about: "a worker is killed", proof: "it ran something" };

function trialResult(seed: number, changes: Partial<TrialResult> = {}): TrialResult {
  return {
    seed,
    violations: [],
    complaints: [],
    hits: 4,
    ms: 2_000,
    recoveriesMs: [],
    stored: 10,
    shown: 20,
    logs: [],
    spoilt: false,
    ...changes,
  };
}

describe("a campaign's tasks", () => {
  test("are the rows' trials in parts, each with the seeds that it would have had", () => {
    const rows = ROWS.filter(({ name }) => name === "worker-sigkill" || name === "pace");
    const most = Number.MAX_SAFE_INTEGER;
    expect(splitIntoTasks(rows, { trials: undefined, seed: 7, most })).toEqual([
      { row: "worker-sigkill", trials: 2, seed: 7 },
      { row: "pace", trials: 1, seed: 7 },
    ]);
    expect(splitIntoTasks(rows.slice(0, 1), { trials: 25, seed: 7, most: 10 })).toEqual([
      { row: "worker-sigkill", trials: 10, seed: 7 },
      { row: "worker-sigkill", trials: 10, seed: 17 },
      { row: "worker-sigkill", trials: 5, seed: 27 },
    ]);
  });
});

describe("a row's result", () => {
  test("has the nearest rank of all recovery times of all trials, and every violation with its seed", () => {
    const times = Array.from({ length: 100 }, (_, index) => 100 - index);
    const violation = { kind: "lost", what: "raw-reader 1: seq 3" } as const;
    const result = toRowResult(
      ROW,
      [trialResult(5, { recoveriesMs: times }), trialResult(6, { violations: [violation] })],
      3,
    );
    expect(result).toMatchObject({ trials: 2, stored: 20, shown: 40, hits: { fewest: 4, all: 8 } });
    expect(toRecovery(result.recoveriesMs)).toEqual({ samples: 100, p50: 50, p99: 99, max: 100 });
    expect(formatViolations([result])).toBe("worker-sigkill, seed 6: lost: raw-reader 1: seq 3");
  });

  test("of several jobs is that of all trials together", () => {
    const one = toRowResult(ROW, [trialResult(5, { recoveriesMs: [3, 1] })], 3);
    const other = toRowResult(ROW, [trialResult(6, { recoveriesMs: [2], hits: 1 })], 4);
    const both = [trialResult(5, { recoveriesMs: [3, 1] }), trialResult(6, { recoveriesMs: [2], hits: 1 })];
    expect(mergeRowResults(one, other)).toEqual(toRowResult(ROW, both, 7));
  });

  test("of several campaigns is one line of the table of docs/faults.md", () => {
    const earlier = toRowResult(ROW, [trialResult(5, { recoveriesMs: [1_200.4] })], 3);
    const later = toRowResult(ROW, [trialResult(6, { recoveriesMs: [2], hits: 1 })], 4);
    const other = toRowResult({ ...ROW, name: "pace" }, [trialResult(6)], 4);
    const merged = mergeCampaigns([[earlier], [later, other]]);
    expect(formatPage(merged).split("\n").slice(2)).toEqual([
      "| `worker-sigkill` | A worker is killed | 2 | 0 | 1 | 2 | 1,200 | 1,200 |",
      "| `pace` | A worker is killed | 1 | 0 | 4 | – | – | – |",
    ]);
    expect(formatSum(merged)).toBe(
      "3 trials, 30 events stored, 60 shown to readers and compared byte for byte, 9 hits: 0 violations.",
    );
  });

  test("is a line of a table, with dashes where nothing had to recover", () => {
    const [header, rule, line] = formatTable([toRowResult(ROW, [trialResult(5)], 3)]).split("\n");
    expect(header!.length).toBe(rule!.length);
    expect(line!.replaceAll(/ +/g, " ")).toBe(
      "| worker-sigkill | 1 | 0 | 4 | 4 | 10 | 20 | – | – | – | 3.0 |",
    );
  });
});
