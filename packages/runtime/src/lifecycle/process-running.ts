import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * True if a process with this id runs and has `argument` on its command line: another process may have the pid by now.
 * False for a zombie, which has no command line any more.
 */
export async function isProcessRunning(pid: number, argument: string): Promise<boolean> {
  return (await commandLine(pid)).includes(argument);
}

/**
 * When a process began, in its system's own words, to tell it from a later one with the same id. Empty when there is no such
 * process, or only a zombie.
 */
export async function readProcessStart(pid: number): Promise<string> {
  try {
    if (process.platform !== "linux") return await ps("lstart=", pid);
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the command's name, which may hold blanks and brackets.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? "" : (fields[START_FIELD] ?? "");
  } catch {
    return "";
  }
}

/** Index of "starttime", the 22nd field of /proc/<pid>/stat, counted after the third, the state. */
const START_FIELD = 18;

/** From /proc where there is one, since slim containers have no `ps`; from `ps` elsewhere. Empty when there is no such process. */
async function commandLine(pid: number): Promise<string> {
  try {
    return process.platform === "linux"
      ? await readFile(`/proc/${pid}/cmdline`, "utf8")
      : await ps("args=", pid);
  } catch {
    return "";
  }
}

async function ps(field: string, pid: number): Promise<string> {
  return (await run("ps", ["-o", field, "-p", String(pid)])).stdout.trim();
}
