import { expect, test } from "vitest";
import { findVersionProblems, type Lockfile } from "./versions.ts";

const workspaces = (version: string) => [
  { folder: "packages/log", manifest: { name: "@reprise/log", version } },
];
const lock = (version: string): Lockfile => ({
  version,
  packages: { "": { version }, "packages/log": { version } },
});

test("one version everywhere is fine", () => {
  expect(findVersionProblems("1.2.3", workspaces("1.2.3"), lock("1.2.3"))).toEqual([]);
});

test("each place with another version is named", () => {
  expect(findVersionProblems("1.2.3", workspaces("1.2.2"), lock("1.2.3"))).toEqual([
    "packages/log/package.json has version 1.2.2; package.json has 1.2.3",
  ]);
  expect(findVersionProblems("1.2.3", workspaces("1.2.3"), lock("1.2.2"))).toEqual([
    "package-lock.json has version 1.2.2; package.json has 1.2.3",
    "package-lock.json, root has version 1.2.2; package.json has 1.2.3",
    "package-lock.json, packages/log has version 1.2.2; package.json has 1.2.3",
  ]);
});

test.each([undefined, "1.2", "1.2.3-rc.1"])("%s is no version for a release", (version) => {
  expect(findVersionProblems(version, [], lock("1.2.3"))).toEqual([
    `package.json has version ${version}; it must be of the form 1.2.3`,
  ]);
});
