import { expect, test } from "vitest";
import { isFlat, judgeMemory } from "./judge-memory.ts";
import { runSoak } from "./run-soak.ts";
import { SETTINGS, SHORT } from "./soak-plan.ts";
import { startSoakedPlatform } from "./soaked-platform.ts";

/* Two minutes on a quiet machine of two cores. */
test("a platform keeps nothing of generations that are over, however they ended", async () => {
  await using platform = await startSoakedPlatform(SETTINGS);
  const samples = await runSoak(platform, SHORT);
  const growths = judgeMemory(samples, SHORT.bounds);
  expect(isFlat(growths), JSON.stringify({ growths, samples }, undefined, 1)).toBe(true);
});
