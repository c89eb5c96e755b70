import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { isSampled } from "./sampling.ts";

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
