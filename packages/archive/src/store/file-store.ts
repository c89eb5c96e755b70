import { randomBytes } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RepriseError } from "@reprise/protocol";
import type { BlobInfo, BlobStore, ByteRange } from "./blob-store.ts";

const KEY = /^[A-Za-z0-9._=-]+(?:\/[A-Za-z0-9._=-]+)*$/;
/** Where files are until they are whole. No key begins like this. */
const TEMPORARY = ".tmp";

/**
 * A folder. Files are written under another name, synced, and then renamed or linked, and the folder is synced after that: whoever
 * reads sees a whole file or none, and what is there after a power loss is whole. Several processes may use one folder.
 */
export function createFileStore(dir: string): BlobStore {
  const made = new Set<string>();
  const pathOf = (key: string) => join(dir, assertKey(key));

  /** Makes a folder and those above it, each synced into the one above. */
  const makeFolder = async (path: string): Promise<void> => {
    if (made.has(path)) return;
    if (path !== dir) await makeFolder(dirname(path));
    const isNew = (await mkdir(path, { recursive: true })) !== undefined;
    if (isNew) await syncFolder(dirname(path));
    made.add(path);
  };
  const writeTemporary = async (bytes: Uint8Array): Promise<string> => {
    await makeFolder(join(dir, TEMPORARY));
    const path = join(dir, TEMPORARY, randomBytes(12).toString("hex"));
    await using file = await open(path, "wx");
    await file.writeFile(bytes);
    await file.datasync();
    return path;
  };

  return {
    get: (key, range) => guarded(() => readFile(pathOf(key), range)),
    put: (key, bytes) =>
      guarded(async () => {
        const path = pathOf(key);
        await makeFolder(dirname(path));
        await rename(await writeTemporary(bytes), path);
        await syncFolder(dirname(path));
      }),
    create: (key, bytes) =>
      guarded(async () => {
        const path = pathOf(key);
        await makeFolder(dirname(path));
        const temporary = await writeTemporary(bytes);
        try {
          await link(temporary, path);
        } catch (error) {
          if (!hasCode(error, "EEXIST")) throw error;
          const there = await readFile(path);
          return there && Buffer.compare(there, bytes) === 0 ? "created" : "exists";
        } finally {
          await rm(temporary, { force: true });
        }
        await syncFolder(dirname(path));
        return "created";
      }),
    list: (prefix) => listFiles(dir, prefix),
    delete: (key) =>
      guarded(async () => {
        await rm(pathOf(key), { force: true });
      }),
  };
}

async function readFile(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
  await using opened = file;
  if (!range) return opened.readFile();
  const buffer = Buffer.alloc(range.length);
  let filled = 0;
  while (filled < range.length) {
    const { bytesRead } = await opened.read(buffer, filled, range.length - filled, range.offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function* listFiles(dir: string, prefix: string): AsyncGenerator<BlobInfo> {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  yield* walk(dir, folder, prefix);
}

async function* walk(dir: string, folder: string, prefix: string): AsyncGenerator<BlobInfo> {
  const entries = await guarded(() =>
    readdir(join(dir, folder), { withFileTypes: true }).catch((error: unknown) => {
      if (hasCode(error, "ENOENT")) return [];
      throw error;
    }),
  );
  // A folder's keys go on behind its name with a slash: that decides where it stands among files.
  const named = entries.map((entry) => ({
    entry,
    key: `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`,
  }));
  for (const { entry, key } of named.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    if (folder === "" && entry.name === TEMPORARY) continue;
    if (entry.isDirectory()) {
      if (key.startsWith(prefix) || prefix.startsWith(key)) yield* walk(dir, key, prefix);
    } else if (key.startsWith(prefix)) {
      const info = await stat(join(dir, key)).catch(() => undefined);
      if (info) yield { key, bytes: info.size };
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

function assertKey(key: string): string {
  if (KEY.test(key) && key.split("/").every((part) => part !== "." && part !== "..")) return key;
  throw new TypeError(`"${key}" is not an object's key`);
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof TypeError) throw cause;
    throw new RepriseError("archive_unavailable", `The archive's folder: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
