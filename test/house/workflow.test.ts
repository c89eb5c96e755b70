import { accessSync, constants, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(ROOT + path, "utf8");
const WORKFLOW = read(".github/workflows/ci.yml");

test("the workflow runs .ci/run last, which can be run", () => {
  const runs = [...WORKFLOW.matchAll(/^ +(?:- )?run: (.+)$/gm)].map(([, command]) => command);
  expect(runs.at(-1)).toBe(".ci/run");
  accessSync(`${ROOT}.ci/run`, constants.X_OK);
});

test("the workflow's Node is that of package.json", () => {
  const versions = [...WORKFLOW.matchAll(/node-version: (.+)$/gm)].map(([, version]) => `^${version}`);
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: { node: string } };
  expect(versions).toEqual([devDependencies.node]);
});

test("the scripts of .ci keep to the bash of macOS, which is 3.2", () => {
  const newer =
    /\bdeclare -A\b|\bmapfile\b|\breadarray\b|\$\{\w+(,,|\^\^)|\bcoproc\b|&>>|\bwait -n\b|"\$\{![A-Z_]+@\}"/;
  for (const path of [".ci/run", ".ci/first-impression"])
    expect([path, newer.exec(read(path))]).toEqual([path, null]);
});
