import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RepriseError } from "@reprise/protocol";

/**
 * Keeps a second platform out of a data folder: two nats-servers on one store would destroy it. The lock is a file with the
 * holder's process id; one that a dead process left behind is taken over.
 * @throws RepriseError `config_invalid` when a living process holds the folder
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const path = join(dataDir, "lock");
  for (;;) {
    try {
      await writeFile(path, `${process.pid}\n`, { flag: "wx" });
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(path, "utf8").catch(() => ""));
    if (holder > 0 && holder !== process.pid && isAlive(holder)) {
      throw new RepriseError("config_invalid", `The data folder ${dataDir} is in use by process ${holder}.`, {
        param: "REPRISE_DATA_DIR",
      });
    }
    await rm(path, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
