import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const MODULE = JSON.stringify(new URL("./process-priority.ts", import.meta.url).href);

/** Returns the priorities of a process after the calls, for each of its threads if the system reports them. */
async function prioritiesAfter(calls: readonly number[]): Promise<readonly number[]> {
  const code = `
    const { lowerPriority } = await import(${MODULE});
    const { getPriority } = await import("node:os");
    const { readdir, readFile } = await import("node:fs/promises");
    for (const nice of ${JSON.stringify(calls)}) await lowerPriority(nice);
    const threads = await readdir("/proc/self/task").catch(() => []);
    console.log(JSON.stringify([getPriority(), ...threads.map((id) => getPriority(Number(id)))]));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code]);
  return JSON.parse(stdout) as number[];
}

test("a process gives way with all of its threads, and takes nothing back", async () => {
  const [before = 0] = await prioritiesAfter([]);
  const lower = Math.max(before, 7);
  for (const calls of [[7], [7, 0], [7, 3]])
    expect(new Set(await prioritiesAfter(calls))).toEqual(new Set([lower]));
  expect(new Set(await prioritiesAfter([0]))).toEqual(new Set([before]));
});
