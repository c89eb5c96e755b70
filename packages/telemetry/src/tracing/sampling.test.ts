import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { decideSampling, isSampled } from "./sampling.ts";

const ids = Array.from({ length: 10_000 }, () => randomBytes(16).toString("hex"));
const sampledOf = (share: number) => ids.filter((id) => isSampled(id, share));

it("takes none of the traces at 0, all at 1, and about the share between", () => {
  expect(sampledOf(0)).toEqual([]);
  expect(sampledOf(1)).toEqual(ids);
  // 10 standard deviations.
  expect(Math.abs(sampledOf(0.1).length - 1_000)).toBeLessThan(300);
});

it("takes with a larger share every trace that a smaller one takes", () => {
  const larger = new Set(sampledOf(0.5));
  expect(sampledOf(0.2).every((id) => larger.has(id))).toBe(true);
});

it("decides anew for each entry of another party's trace, and follows the platform's own", () => {
  const [sampled, unsampled] = [true, false].map((flag) => ({ sampled: flag, isForeign: true }));
  const own = { sampled: true, isForeign: false };
  for (const id of ["1".repeat(32), "f".repeat(32)]) {
    for (const parent of [sampled, unsampled])
      expect(
        [0, 0.09, 0.1, 0.99].map((chance) => decideSampling(id, { parent, share: 0.1 }, () => chance)),
      ).toEqual([true, true, false, false]);
    expect(decideSampling(id, { parent: own, share: 0 }, () => 0)).toBe(true);
    expect(decideSampling(id, { parent: { ...own, sampled: false }, share: 1 }, () => 0)).toBe(false);
    expect(decideSampling(id, { parent: undefined, share: 0.1 }, () => 0.99)).toBe(isSampled(id, 0.1));
  }
});
