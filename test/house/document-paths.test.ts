import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findMissingNames, findMissingPaths, readFolderTable, readWays } from "./document-paths.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MOST_STEPS = 8;

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const documents = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted();
const readmes = globSync(["packages/*/README.md", "services/*/README.md", "test/*/README.md"], {
  cwd: ROOT,
}).toSorted();

describe("documents", () => {
  test.each(documents)("%s names no file that does not exist", (document) => {
    expect(findMissingPaths(read(document), ROOT)).toEqual([]);
  });

  test("a file that does not exist is reported by its path", () => {
    const planted = "See `packages/log/src/no-such-file.ts`, `packages/log/src/hub/hub.ts` and `test/house`.";
    expect(findMissingPaths(planted, ROOT)).toEqual(["packages/log/src/no-such-file.ts"]);
  });
});

describe("the README of a package, a service or a suite", () => {
  test.each(readmes)("%s lists folders, and each of them exists", (readme) => {
    const listed = readFolderTable(read(readme));
    expect(listed.length).toBeGreaterThan(0);
    expect(findMissingNames(listed, join(ROOT, dirname(readme)))).toEqual([]);
  });

  test("a listed folder or file that does not exist is reported by its name", () => {
    const planted =
      "| folder | holds |\n|---|---|\n| `hub/`, `no-such-folder/` | `words` |\n| `hub/hub.ts/` | a file |\n";
    const missing = findMissingNames(readFolderTable(planted), join(ROOT, "packages/log"));
    expect(missing).toEqual(["no-such-folder/", "hub/hub.ts/"]);
  });
});

describe("ARCHITECTURE.md", () => {
  const ways = readWays(read("ARCHITECTURE.md"));

  test("has the ways of a token, a create, a resume, a cancel, a takeover and a verdict", () => {
    expect(ways.map(({ heading }) => heading)).toEqual([
      "The way of a token",
      "The way of a create",
      "The way of a resume",
      "The way of a cancel",
      "The way of a takeover",
      "The way of a verdict",
    ]);
  });

  test.each(ways)("$heading takes at most eight steps, each with its files", ({ steps }) => {
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.length).toBeLessThanOrEqual(MOST_STEPS);
    expect(steps.filter((files) => files.length === 0)).toEqual([]);
  });
});
