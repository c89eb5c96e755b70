import { afterAll, expect, test } from "vitest";
import { formatViolations } from "../campaign/format-table.ts";
import { DEFAULT_SEED } from "../campaign/options.ts";
import { toRowResult } from "../campaign/row-result.ts";
import { runRow } from "../campaign/run-row.ts";
import { WorldPool } from "../campaign/world-pool.ts";
import type { FaultRow } from "../rows/row.ts";

/** Campaigns with more are for `npm run test:fault`. */
const TRIALS = 1;
/** What a world takes to start on a busy machine, and a little more. */
const START_LIMIT_MS = 45_000;
const DEFAULT_LIMIT_MS = 45_000;

/** One test for each row, of one trial with the default seed. */
export function testRows(rows: readonly FaultRow[]): void {
  const worlds = new WorldPool();
  afterAll(() => worlds.discard());

  for (const row of rows) {
    const timeout = START_LIMIT_MS + TRIALS * (row.limitMs ?? DEFAULT_LIMIT_MS);
    test(
      `${row.name}: nothing is lost, repeated, reordered or leaked, and everything ends once`,
      {
        timeout,
      },
      async () => {
        const results = await runRow(row, { worlds, trials: TRIALS, seed: DEFAULT_SEED });
        const result = toRowResult(row, results, 0);
        const complaints = results.flatMap((each) => each.complaints);
        expect(formatViolations([result]), complaints.join("\n")).toBe("");
        expect(result.trials).toBe(TRIALS);
        expect(result.stored).toBeGreaterThan(0);
      },
    );
  }
}
