import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

const PAGE_BYTES = 4_096;

/** The arguments of a process, and what is between them differs by system. Empty when no such process runs. */
export async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === "linux") return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return (await outputOf("ps", "-ww", "-o", "args=", "-p", String(pid))).trim();
}

/** The bytes of a process that are in memory. @throws Error when no such process runs */
export async function readResidentBytes(pid: number): Promise<number> {
  if (process.platform === "linux") {
    const [, pages] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ");
    return Number(pages) * PAGE_BYTES;
  }
  const kibibytes = await outputOf("ps", "-o", "rss=", "-p", String(pid));
  if (kibibytes === "") throw new Error(`no process ${pid} runs`);
  return Number(kibibytes) * 1_024;
}

/** The processes of this user that work in a folder. */
export async function findProcessesIn(dir: string): Promise<number[]> {
  if (process.platform !== "linux")
    return (await outputOf("lsof", "-t", "-a", "-d", "cwd", dir)).split("\n").filter(Boolean).map(Number);
  const pids = (await readdir("/proc")).filter((entry) => /^[0-9]+$/.test(entry));
  const found = await Promise.all(
    // A process that has ended, and one of another user, has no folder.
    pids.map(async (pid) =>
      (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === dir ? [Number(pid)] : [],
    ),
  );
  return found.flat();
}

/** Empty when the program found nothing, which it reports as a failure. */
async function outputOf(file: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(file, args)).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error;
    return "";
  }
}
