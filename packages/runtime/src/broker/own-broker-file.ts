import { readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readProcessStart } from "../lifecycle/process-running.ts";
import { replaceSecretFile } from "../lifecycle/secret-file.ts";

/*
 * `<data dir>/nats.json`: the NATS server that `npm start` runs, with the credentials of this start in its URL. Readable by its owner
 * only. It counts for as long as the process that wrote it is there.
 */

interface OwnBroker {
  readonly url: string;
  readonly pid: number;
  /** When that process began: its id may be another's by now. */
  readonly started: string;
}

/** Leaves the file there until disposal. */
export async function writeOwnBrokerFile(dataDir: string, url: string): Promise<AsyncDisposable> {
  const path = pathIn(dataDir);
  const own: OwnBroker = { url, pid: process.pid, started: await readProcessStart(process.pid) };
  await replaceSecretFile(path, `${JSON.stringify(own, null, 2)}\n`);
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** The URL of the server that a running `npm start` has on this data folder; undefined when there is none, or another user's. */
export async function findOwnBroker(dataDir: string): Promise<string | undefined> {
  const text = await readFile(pathIn(dataDir), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { url, pid, started } = JSON.parse(text) as OwnBroker;
    return started !== "" && (await readProcessStart(pid)) === started ? url : undefined;
  } catch {
    return undefined;
  }
}

function pathIn(dataDir: string): string {
  return join(resolve(dataDir), "nats.json");
}
