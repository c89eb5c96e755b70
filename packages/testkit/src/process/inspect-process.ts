import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
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

/** Empty when the program found nothing, which it reports as a failure. */
async function outputOf(file: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(file, args)).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error;
    return "";
  }
}
