import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Whether a process with this id runs and has `argument` on its command line: a pid alone may have gone to somebody else.
 * False for a zombie, which has no command line any more.
 */
export async function isProcessRunning(pid: number, argument: string): Promise<boolean> {
  return (await commandLine(pid)).includes(argument);
}

/** From /proc where there is one, since slim containers have no `ps`; from `ps` elsewhere. Empty when there is no such process. */
async function commandLine(pid: number): Promise<string> {
  try {
    return process.platform === "linux"
      ? await readFile(`/proc/${pid}/cmdline`, "utf8")
      : (await run("ps", ["-o", "args=", "-p", String(pid)])).stdout;
  } catch {
    return "";
  }
}
