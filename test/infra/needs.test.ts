import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { SUITES } from "./needs.ts";

test("each test that `npm test` leaves out is in a suite", () => {
  const tests = globSync("{proxies,containers}/**/*.test.ts", { cwd: import.meta.dirname });
  expect(tests.length).toBeGreaterThan(0);
  expect(tests.filter((path) => !SUITES.some(({ name }) => path.startsWith(name)))).toEqual([]);
});
