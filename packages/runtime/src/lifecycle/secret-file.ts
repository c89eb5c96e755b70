import { randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { RepriseError, unixNow } from "@reprise/protocol";

/*
 * Files with secrets: for their owner alone, whole at every moment, and there after a power loss. Each is written under another name, a draft, which is
 * synced before it gets the file's name; then its folder is synced. A process that dies in between leaves its draft, which the next
 * one that writes the file removes.
 */

const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;
/** No process takes as long to write a secret: an older draft is abandoned. */
const ABANDONED_MS = 60_000;

/**
 * Reads a secret from a file that only its owner can read; makes the file with what `make` gives when it is missing. Of several that
 * make it at once one wins, and all have the same. It is on the disk before it is returned.
 * @throws RepriseError `config_invalid`
 */
export async function openSecretFile(path: string, make: () => string): Promise<string> {
  try {
    const there = await readSecret(path);
    if (there !== undefined) {
      // A folder that can't be listed has a secret as good as any.
      await removeAbandoned(path).catch(() => {});
      return there;
    }
    const secret = make();
    await createSecretFile(path, secret);
    return (await readSecret(path)) ?? secret;
  } catch (cause) {
    if (cause instanceof RepriseError) throw cause;
    throw new RepriseError("config_invalid", `${path} can't be used: ${(cause as Error).message}`, {
      param: path,
      cause,
    });
  }
}

/** Makes a file, and its folder, unless there is one: returns whether it was made. It ends with a line feed. */
export async function createSecretFile(path: string, secret: string): Promise<boolean> {
  await makeFolder(dirname(path));
  return place(path, `${secret}\n`, async (draft) => {
    try {
      await link(draft, path);
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  });
}

/** Makes a file, or puts another in its place, in a folder that is there. A reader has the old one or the new one. */
export async function replaceSecretFile(path: string, text: string): Promise<void> {
  await place(path, text, (draft) => rename(draft, path));
}

async function place<T>(path: string, text: string, put: (draft: string) => Promise<T>): Promise<T> {
  await removeAbandoned(path);
  const draft = `${path}.${randomUUID()}`;
  let outcome: T;
  try {
    await writeFile(draft, text, { mode: OWNER_ONLY, flag: "wx", flush: true });
    outcome = await put(draft);
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
  return outcome;
}

const RANDOM = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function removeAbandoned(path: string): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)];
  for (const entry of await readdir(folder)) {
    if (!entry.startsWith(name) || !RANDOM.test(entry.slice(name.length))) continue;
    const draft = join(folder, entry);
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (unixNow() - mtimeMs > ABANDONED_MS) await rm(draft, { force: true });
  }
}

async function readSecret(path: string): Promise<string | undefined> {
  let opened: FileHandle;
  try {
    opened = await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  await using file = opened;
  const { mode } = await file.stat();
  if ((mode & OTHERS) !== 0)
    throw new RepriseError("config_invalid", `${path} can be read or changed by others: chmod 600 it.`, {
      param: path,
    });
  const secret = (await file.readFile("utf8")).trim();
  if (secret !== "") return secret;
  throw new RepriseError("config_invalid", `${path} is empty: remove it, or put the secret there.`, {
    param: path,
  });
}

/** Makes a folder, with all above it that are missing. One that is there already stays as it is. */
async function makeFolder(folder: string): Promise<void> {
  const made = resolve(folder);
  const highest = await mkdir(made, { recursive: true, mode: OWNER_ONLY_FOLDER });
  if (highest === undefined) return;
  for (let path = made; path.startsWith(highest); path = dirname(path)) await syncFolder(dirname(path));
}

/** Makes the names in a folder durable. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
