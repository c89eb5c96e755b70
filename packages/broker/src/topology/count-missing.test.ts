import { expect, test } from "vitest";
import { countMissing } from "./broker-availability.ts";

const HEARD = { active: 500_000_000 };
const SILENT = { active: 60_000_000_000 };

test("a stream lacks the replicas that are away, that its leader does not hear, and that have no server", () => {
  expect(countMissing({ replicas: [HEARD, HEARD] }, 3)).toBe(0);
  expect(countMissing({ replicas: [HEARD, SILENT] }, 3)).toBe(1);
  expect(countMissing({ replicas: [HEARD, { ...HEARD, offline: true }] }, 3)).toBe(1);
  expect(countMissing({ replicas: [HEARD] }, 3)).toBe(1);
  expect(countMissing({}, 3)).toBe(2);
});

test("a single server lacks none", () => {
  expect(countMissing(undefined, 1)).toBe(0);
  expect(countMissing({ replicas: [] }, 1)).toBe(0);
});
