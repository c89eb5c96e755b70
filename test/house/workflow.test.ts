import { accessSync, constants, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { installCommand } from "../../scripts/programs/install-command.ts";
import type { Machine } from "../../scripts/programs/machine.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(ROOT + path, "utf8");
const WORKFLOW = read(".github/workflows/ci.yml");

const MACHINES: Readonly<Record<string, Machine>> = {
  "ubuntu-latest": { platform: "linux", arch: "x64", ids: ["ubuntu", "debian"], major: 24 },
  "macos-latest": { platform: "darwin", arch: "arm64", ids: [], major: undefined },
};

test("the workflow runs .ci/run, which is there and can be run, on Ubuntu and macOS", () => {
  const runs = [...WORKFLOW.matchAll(/^ +(?:- )?run: (.+)$/gm)].map(([, command]) => command);
  expect(runs).toEqual(["${{ matrix.install }}", "sudo ifconfig lo0 alias 127.0.0.2", ".ci/run"]);
  accessSync(`${ROOT}.ci/run`, constants.X_OK);
  const systems = [...WORKFLOW.matchAll(/^ +- os: (.+)$/gm)].map(([, os]) => os);
  expect(systems).toEqual(Object.keys(MACHINES));
});

test("the workflow's Node is that of package.json", () => {
  const versions = [...WORKFLOW.matchAll(/node-version: (.+)$/gm)].map(([, version]) => `^${version}`);
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: { node: string } };
  expect(versions).toEqual([devDependencies.node]);
});

test("the workflow installs with the command that set-up prints on its systems", () => {
  const installs = [...WORKFLOW.matchAll(/os: (.+)\n +install: (?:sudo apt-get update && )?(.+)$/gm)];
  const printed = Object.entries(MACHINES).map(([os, machine]) => [
    os,
    installCommand(machine, ["redis-server", "postgres"]),
  ]);
  expect(installs.map(([, os, command]) => [os, command])).toEqual(printed);
});

test("the scripts of .ci keep to the bash of macOS, which is 3.2", () => {
  const newer =
    /\bdeclare -A\b|\bmapfile\b|\breadarray\b|\$\{\w+(,,|\^\^)|\bcoproc\b|&>>|\bwait -n\b|"\$\{![A-Z_]+@\}"/;
  for (const path of [".ci/run", ".ci/first-impression"])
    expect([path, newer.exec(read(path))]).toEqual([path, null]);
});
