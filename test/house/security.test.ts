import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findMissingPaths } from "./document-paths.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(`${ROOT}SECURITY.md`, "utf8");
const ROWS = [...PAGE.matchAll(/^\| (?!against|---)([^|]+) \| [^|]+ \| ([^|]+) \|$/gm)].map(
  ([, against = "", tests = ""]) => ({ against, tests: tests.split(", ") }),
);

test("SECURITY.md names a test for each adversary, and none that does not exist", () => {
  expect(ROWS.length).toBeGreaterThan(5);
  const untested = ROWS.filter(({ tests }) => tests.some((name) => !/^`[\w./-]+\.test\.ts`$/.test(name)));
  expect(untested).toEqual([]);
  expect(findMissingPaths(PAGE, ROOT)).toEqual([]);
});
