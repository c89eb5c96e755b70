import { expect, test } from "vitest";
import { findProblems } from "./tracked-files.ts";

const lines = (count: number) => "x\n".repeat(count);

test("a source file may have 500 lines and no more", () => {
  expect(findProblems("packages/a/src/a.ts", lines(500))).toEqual([]);
  for (const path of ["packages/a/src/a.ts", "scripts/a.mjs", "a.test.ts"])
    expect(findProblems(path, lines(501))).toEqual([`${path} has 501 lines; at most 500`]);
});

test("what is not source may be as long as it is", () => {
  expect(findProblems("package-lock.json", lines(9_000))).toEqual([]);
});

test("a file that names npm's registry, or one that this machine uses, is reported once for each", () => {
  const npm = ["registry", "npmjs", "org"].join(".");
  expect(findProblems("a.json", `https://${npm}/x https://${npm}/y`, [npm])).toEqual([
    `a.json names the package registry ${npm}`,
  ]);
  expect(findProblems("a.json", "https://npm.example.test/x", ["npm.example.test"])).toEqual([
    "a.json names the package registry npm.example.test",
  ]);
});
