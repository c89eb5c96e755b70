import { accessSync, constants, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { installCommand, type ProgramName } from "../../scripts/programs/install-command.ts";
import type { Machine } from "../../scripts/programs/machine.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(ROOT + path, "utf8");
const WORKFLOW = read(".github/workflows/ci.yml");

interface Job {
  readonly os: string;
  readonly container?: string;
  readonly install: string;
}

const { include: JOBS } = (
  parse(WORKFLOW) as { jobs: { run: { strategy: { matrix: { include: readonly Job[] } } } } }
).jobs.run.strategy.matrix;

const TESTED: readonly ProgramName[] = ["redis-server"];
const UBUNTU: Machine = { platform: "linux", arch: "x64", ids: ["ubuntu", "debian"], major: 24 };
const MACOS: Machine = { platform: "darwin", arch: "arm64", ids: [], major: undefined };
const FEDORA: Machine = { platform: "linux", arch: "x64", ids: ["fedora"], major: 44 };

test("the workflow runs .ci/run, which is there and can be run, on Ubuntu, macOS and Fedora", () => {
  const runs = [...WORKFLOW.matchAll(/^ +(?:- )?run: (.+)$/gm)].map(([, command]) => command);
  expect(runs).toEqual([
    "${{ matrix.install }}",
    'git config --global --add safe.directory "$GITHUB_WORKSPACE"',
    "sudo ifconfig lo0 alias 127.0.0.2",
    ".ci/run",
  ]);
  accessSync(`${ROOT}.ci/run`, constants.X_OK);
  expect(JOBS.map(({ os, container }) => [os, container])).toEqual([
    ["ubuntu-latest", undefined],
    ["macos-latest", undefined],
    ["ubuntu-latest", `fedora:${FEDORA.major}`],
  ]);
  expect(WORKFLOW).toContain("    container: ${{ matrix.container }}\n");
});

test("the workflow's Node is that of package.json", () => {
  const versions = [...WORKFLOW.matchAll(/node-version: (.+)$/gm)].map(([, version]) => `^${version}`);
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: { node: string } };
  expect(versions).toEqual([devDependencies.node]);
});

test("the workflow installs with the command that set-up prints on its systems", () => {
  // Runners have Chrome, and a container of Fedora has neither that nor what checks code out.
  const installs = JOBS.map(({ install }) =>
    install.replace(/^(?:sudo apt-get update|dnf install -y [\w -]+) && /, ""),
  );
  expect(installs).toEqual([
    installCommand(UBUNTU, TESTED),
    installCommand(MACOS, TESTED),
    installCommand(FEDORA, [...TESTED, "chromium"]),
  ]);
});

test("the scripts of .ci keep to the bash of macOS, which is 3.2", () => {
  const newer =
    /\bdeclare -A\b|\bmapfile\b|\breadarray\b|\$\{\w+(,,|\^\^)|\bcoproc\b|&>>|\bwait -n\b|"\$\{![A-Z_]+@\}"/;
  for (const path of [".ci/run", ".ci/first-impression"])
    expect([path, newer.exec(read(path))]).toEqual([path, null]);
});
