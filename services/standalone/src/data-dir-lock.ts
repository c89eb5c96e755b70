import { randomUUID } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RepriseError } from "@reprise/protocol";
import { readProcessStart } from "@reprise/runtime";

/**
 * Keeps a second platform out of a data folder: two nats-servers on one store would destroy it. The lock is a file with the
 * holder's process id and the moment that process began, for an id alone may long be another program's. A lock of a dead
 * process is taken over.
 * @throws RepriseError `config_invalid` when a living process holds the folder
 */
export async function lockDataDir(dataDir: string): Promise<AsyncDisposable> {
  const path = join(dataDir, "lock");
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, `${process.pid} ${await readProcessStart(process.pid)}\n`);
  try {
    const holder = await take(path, draft);
    if (holder === undefined) return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    throw new RepriseError(
      "config_invalid",
      `The data folder ${dataDir} is in use by process ${holder}: set REPRISE_DATA_DIR to another folder.`,
      { param: "REPRISE_DATA_DIR" },
    );
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Makes `draft` the lock at `path`, whole from its first moment. A dead process's lock is removed only by the holder of
 * a second lock, which reads the first again before: a living process may have taken it over meanwhile. The second is taken
 * like the first, so a process that dies as its holder blocks no other.
 * @returns the living holder's process id when there is one
 */
async function take(path: string, draft: string): Promise<string | undefined> {
  const takeover = `${path}.takeover`;
  while (!(await linkNew(draft, path))) {
    const found = await look(path);
    if (found === "nothing") continue;
    if (found !== "dead") return found.pid;
    const rival = await take(takeover, draft);
    if (rival !== undefined) return rival;
    try {
      if ((await look(path)) === "dead") await rm(path);
    } finally {
      await rm(takeover);
    }
  }
  return undefined;
}

/** Returns false when `path` exists. */
async function linkNew(existing: string, path: string): Promise<boolean> {
  try {
    await link(existing, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function look(path: string): Promise<"nothing" | "dead" | { pid: string }> {
  try {
    const [, pid, start] = /^([0-9]+) (.+)$/m.exec(await readFile(path, "utf8")) ?? [];
    return pid !== undefined && (await readProcessStart(Number(pid))) === start ? { pid } : "dead";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "nothing";
    throw error;
  }
}
