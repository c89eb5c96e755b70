import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { expect, test } from "vitest";
import { findProcessesIn, readCommandLine, readResidentBytes } from "./inspect-process.ts";
import { createTempDir } from "./temp-dir.ts";

// Where there is /proc, what works without it is tested too: Debian has `ps` and `lsof` in packages that may be missing.
const hasTools = await Promise.all([readCommandLine(1, "darwin"), findProcessesIn("/", "darwin")]).then(
  () => true,
  () => false,
);
const systems = [
  ...(process.platform === "linux" ? ["linux" as const] : []),
  ...(hasTools ? ["darwin" as const] : []),
];

test.each(systems)(
  "a process is seen by its arguments, folder and memory, and not after its end: %s",
  async (system) => {
    await using dir = await createTempDir("inspect");
    const cwd = await realpath(dir.path);
    const child = spawn("/bin/sh", ["-c", "echo; read line", "a-name"], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    const pid = child.pid!;
    expect(await readCommandLine(pid, system)).toMatch(/\bread line\b.*a-name/s);
    expect(await findProcessesIn(cwd, system)).toEqual([pid]);
    expect(await readResidentBytes(pid, system)).toBeGreaterThan(0);

    child.stdin.end();
    await once(child, "exit");
    expect(await readCommandLine(pid, system)).toBe("");
    expect(await findProcessesIn(cwd, system)).toEqual([]);
    await expect(readResidentBytes(pid, system)).rejects.toThrow();
  },
);
