import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findMissingPaths } from "./document-paths.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(`${ROOT}SECURITY.md`, "utf8");
const ROWS = [...PAGE.matchAll(/^\| (?!against|input|---)([^|]+) \| [^|]+ \| ([^|]+) \|$/gm)].map(
  ([, against = "", tests = ""]) => ({ against, tests: tests.split(", ") }),
);

test("SECURITY.md names a test for each adversary, and none that does not exist", () => {
  expect(ROWS.length).toBeGreaterThan(5);
  const untested = ROWS.filter(({ tests }) => tests.some((name) => !/^`[\w./-]+\.test\.ts`$/.test(name)));
  expect(untested).toEqual([]);
  expect(findMissingPaths(PAGE, ROOT)).toEqual([]);
});

test("the parsers that SECURITY.md names are given 10,000 values each by the tests that it names", () => {
  const read = (path: string) => readFileSync(ROOT + path, "utf8");
  expect(read("services/delivery/src/fuzz/fuzz.fixture.ts")).toContain("const CASES = 10_000;");
  const rows = [...PAGE.matchAll(/^\| [^|]+ \| (`\w+`(?:, `\w+`)*) \| `([^`]+)` \|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, parsers = "", path = ""] of rows) {
    const text = read(path);
    expect([path, /\bfuzz\(|numRuns: 10_000/.test(text)]).toEqual([path, true]);
    const names = [...parsers.matchAll(/\w+/g)].map(([name]) => name);
    expect([path, names.filter((name) => !text.includes(name))]).toEqual([path, []]);
  }
});
