import { afterAll, expect, test } from "vitest";
import { formatViolations } from "./campaign/format-table.ts";
import { DEFAULT_SEED } from "./campaign/options.ts";
import { toRowResult } from "./campaign/row-result.ts";
import { runRow } from "./campaign/run-row.ts";
import { WorldPool } from "./campaign/world-pool.ts";
import { ROWS } from "./rows/all.ts";

/** One trial of each row: campaigns with more are for `npm run test:fault`. */
const TRIALS = 1;
/** What a world takes to start, and a little more. */
const START_LIMIT_MS = 30_000;
const DEFAULT_LIMIT_MS = 45_000;

const worlds = new WorldPool();
afterAll(() => worlds.discard());

for (const row of ROWS) {
  test(
    `${row.name}: nothing is lost, repeated, reordered or leaked, and everything ends once`,
    {
      timeout: START_LIMIT_MS + TRIALS * (row.limitMs ?? DEFAULT_LIMIT_MS),
    },
    async () => {
      const result = toRowResult(row, await runRow(row, { worlds, trials: TRIALS, seed: DEFAULT_SEED }), 0);
      expect(formatViolations([result])).toBe("");
      expect(result).toMatchObject({ trials: TRIALS });
      expect(result.shown).toBeGreaterThan(0);
    },
  );
}
