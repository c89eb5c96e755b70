import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { COMMANDS } from "./commands.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Their own programs answer, those of subcommands too. */
const ANSWERS_ITSELF = [
  "test",
  "test:all",
  "test:fault",
  "chaos",
  "soak",
  "nats",
  "redis",
  "moderation",
  "audit",
  "usage",
  "admin",
  "bench",
];
const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });

test("every command answers --help, and does nothing else", () => {
  const helped = Object.entries(COMMANDS).filter(([, { help }]) => help !== undefined);
  const all = [...helped.map(([name]) => name), ...ANSWERS_ITSELF];
  expect(all.toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
  for (const [name, { help }] of helped)
    expect(run("scripts/run.mjs", name, "--help")).toMatchObject({ status: 0, stdout: `${help}\n` });
});

test.each([
  ["test/fault/main.ts"],
  ["test/fault/soak/main.ts"],
  ["test/fault/chaos/main.ts", "worker"],
  ["test/bench/main.ts"],
  ["infra/nats/main.ts", "backup"],
  ["infra/redis/main.ts", "generate"],
  ["infra/containers/main.ts"],
])("%s answers --help", (...args) => {
  const { status, stdout, stderr } = run(...args, "--help");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^(npm run|main\.js) /);
});

test("a service says that its Node is too old, and what to do", () => {
  const script = readFileSync(`${ROOT}/scripts/service.mjs`, "utf8");
  const old = script
    .replaceAll("process.versions.node", '"20.1.0"')
    .replaceAll("import.meta.url", '"file:///x"');
  const { status, stderr } = run("--input-type=module", "--eval", old, "x", "delivery");
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Node 20\.1\.0 is too old: .* Node 24.*npx node scripts\/service\.mjs delivery/);
});

test("a service that there is not is told with those that there are", () => {
  const { status, stderr } = run("scripts/service.mjs", "delivry");
  expect(status).toBe(2);
  expect(stderr).toContain("inference-worker");
  expect(run("scripts/service.mjs", "--help")).toMatchObject({ status: 0 });
});
