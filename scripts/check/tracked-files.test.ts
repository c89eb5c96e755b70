import { expect, test } from "vitest";
import { findCrowdedFolders, findProblems } from "./tracked-files.ts";

const lines = (count: number) => "x\n".repeat(count);

test("a source file may have 400 lines and no more", () => {
  expect(findProblems("packages/a/src/a.ts", lines(400))).toEqual([]);
  expect(findProblems("packages/a/src/a.ts", lines(401))).toEqual([
    "packages/a/src/a.ts has 401 lines; at most 400",
  ]);
  expect(findProblems("scripts/a.mjs", lines(401))).toEqual(["scripts/a.mjs has 401 lines; at most 400"]);
});

test("a test file may have 500 lines and no more", () => {
  expect(findProblems("a.test.ts", lines(500))).toEqual([]);
  expect(findProblems("a.test.ts", lines(501))).toEqual(["a.test.ts has 501 lines; at most 500"]);
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

test("a folder may have 15 source files and no more", () => {
  const files = Array.from({ length: 15 }, (_, number) => `packages/a/src/${number}.ts`);
  const others = ["1.test.ts", "a.fixture.ts", "README.md", "inner/16.ts"].map(
    (name) => `packages/a/src/${name}`,
  );
  expect(findCrowdedFolders([...files, ...others])).toEqual([]);
  expect(findCrowdedFolders([...files, "packages/a/src/16.mjs"])).toEqual([
    "packages/a/src has 16 source files; at most 15",
  ]);
});
