import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { RepriseError } from "@reprise/protocol";

const run = promisify(execFile);

/**
 * Keeps a second platform out of a data folder: two nats-servers on one store would destroy it. The lock is a file with the
 * holder's process id and the moment that process began, for an id alone may long be another program's. A lock that a dead
 * process left behind is taken over.
 * @throws RepriseError `config_invalid` when a living process holds the folder
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const path = join(dataDir, "lock");
  const own = `${process.pid} ${await beginningOf(process.pid)}`;
  for (;;) {
    try {
      await writeFile(path, `${own}\n`, { flag: "wx" });
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const [, pid, began] = /^([0-9]+) (.+)$/m.exec(await readFile(path, "utf8").catch(() => "")) ?? [];
    if (pid !== undefined && (await beginningOf(Number(pid))) === began) {
      throw new RepriseError("config_invalid", `The data folder ${dataDir} is in use by process ${pid}.`, {
        param: "REPRISE_DATA_DIR",
      });
    }
    await rm(path, { force: true });
  }
}

/** Where "starttime" stands in /proc/<pid>/stat, counted from behind the command's name, which may hold blanks. */
const STARTTIME = 19;

/** When a process began, as its system says it; "" when there is no such process. */
async function beginningOf(pid: number): Promise<string> {
  try {
    if (process.platform !== "linux")
      return (await run("ps", ["-o", "lstart=", "-p", String(pid)])).stdout.trim();
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[STARTTIME] ?? "";
  } catch {
    return "";
  }
}
