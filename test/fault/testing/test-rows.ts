import { afterAll, expect, test } from "vitest";
import { formatViolations } from "../campaign/format-table.ts";
import { DEFAULT_SEED } from "../campaign/options.ts";
import { toRowResult } from "../campaign/row-result.ts";
import { runRow } from "../campaign/run-row.ts";
import { WorldPool } from "../campaign/run-row.ts";
import type { FaultRow } from "../rows/row.ts";

/** Campaigns with more are for `npm run test:fault`. */
const TRIALS = 1;

/** One test for each row of the short form, of one trial with the default seed. */
export function testRows(rows: readonly FaultRow[]): void {
  const worlds = new WorldPool();
  afterAll(() => worlds.discard());

  for (const row of rows.filter(({ shortTrials }) => shortTrials !== 0)) {
    test(`${row.name}: nothing is lost, repeated, reordered or leaked, and everything ends once`, async () => {
      const results = await runRow(row, { worlds, trials: TRIALS, seed: DEFAULT_SEED });
      const result = toRowResult(row, results, 0);
      const complaints = results.flatMap((each) => each.complaints);
      expect(formatViolations([result]), complaints.join("\n")).toBe("");
      expect(result.trials).toBe(TRIALS);
      expect(result.stored).toBeGreaterThan(0);
    });
  }
}
