import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { readProcessStart } from "./process-running.ts";

test("a process keeps its start, another has another, and one that has ended has none", async () => {
  const child = spawn("sh", ["-c", "read line"], { stdio: ["pipe", "ignore", "ignore"] });
  await once(child, "spawn");
  const [own, childs] = await Promise.all([readProcessStart(process.pid), readProcessStart(child.pid!)]);
  expect(await readProcessStart(process.pid)).toBe(own);
  expect([own, childs]).not.toContain("");
  expect(childs).not.toBe(own);
  child.stdin.end();
  await once(child, "exit");
  expect(await readProcessStart(child.pid!)).toBe("");
});
