import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

/** A process that stops its own child, guards it, and says its id. */
const OWNER = `
  const { spawn } = await import("node:child_process");
  const { guardStoppedProcess } = await import(${JSON.stringify(import.meta.resolve("./stopped-process.ts"))});
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1_000)"], { detached: true, stdio: "ignore" });
  child.kill("SIGSTOP");
  guardStoppedProcess(child.pid);
  console.log(child.pid);
  setInterval(() => {}, 1_000);
`;

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a process that stands still ends with the one that stopped it, even if that is killed", async () => {
  const owner = spawn(process.execPath, ["--input-type=module", "-e", OWNER], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(owner.stdout, "data")) as [Buffer];
  const pid = Number(said.toString());
  expect(isThere(pid)).toBe(true);
  owner.kill("SIGKILL");
  await expect.poll(() => isThere(pid)).toBe(false);
});
