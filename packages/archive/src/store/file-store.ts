import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { plusMs, unixNow } from "@reprise/protocol";
import type { BlobStore, ByteRange } from "./blob-store.ts";
import { DurableFolders, syncFolder } from "./durable-folders.ts";
import { hasFileCode, withFileErrors, listFiles } from "./list-files.ts";
import { assertObjectKey, TEMPORARY_FOLDER } from "./object-key.ts";

/** Age at which a temporary file counts as left by a process that died: no write takes that long. */
const ABANDONED_MS = 24 * 3_600_000;

/**
 * Creates a store in a folder. Files are written under another name, synced, and then renamed or linked, and the folder is synced after that: a read
 * sees a whole file or none, and files are whole after a power loss. Several processes may use one folder, which must be on
 * one disk that has hard links. A key can't extend another object's key by a slash and more: one is a file, the other a folder.
 * @param what the folder, as errors name it. Default: the archive's
 */
export function createFileStore(folder: string, what = "The archive's folder"): BlobStore {
  const dir = resolve(folder);
  const folders = new DurableFolders(dir);
  const temporaryFolder = join(dir, TEMPORARY_FOLDER);
  const pathOf = (key: string) => join(dir, assertObjectKey(key));
  let isSwept = false;

  /** Hands the path of a file with these bytes, durable but for its name, to `place`, and makes durable what that does in the folder. */
  const write = async (
    key: string,
    bytes: Uint8Array,
    place: (temporary: string, path: string) => Promise<void>,
  ): Promise<void> => {
    const path = pathOf(key);
    await Promise.all([folders.make(temporaryFolder), folders.make(dirname(path))]);
    if (!isSwept) {
      isSwept = true;
      await sweep(temporaryFolder);
    }
    const temporary = join(temporaryFolder, randomBytes(12).toString("hex"));
    try {
      await writeDurably(temporary, bytes);
      await place(temporary, path);
    } catch (error) {
      if (hasFileCode(error, "ENOENT")) folders.forget();
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
    await syncFolder(dirname(path));
  };

  return {
    get: (key, range) => withFileErrors(what, () => readFile(pathOf(key), range)),
    put: (key, bytes) => withFileErrors(what, () => write(key, bytes, rename)),
    create: (key, bytes) =>
      withFileErrors(what, async () => {
        let outcome: "created" | "exists" = "created";
        await write(key, bytes, async (temporary, path) => {
          try {
            await link(temporary, path);
          } catch (error) {
            if (!hasFileCode(error, "EEXIST")) throw error;
            // Of an earlier try it is not known whether the folder was synced: it is done again.
            const there = await readFile(path);
            outcome = there && Buffer.compare(there, bytes) === 0 ? "created" : "exists";
          }
        });
        return outcome;
      }),
    list: (prefix, after) => listFiles(dir, prefix, { what, after }),
    delete: (key) =>
      withFileErrors(what, async () => {
        const path = pathOf(key);
        try {
          await rm(path);
          await syncFolder(dirname(path));
        } catch (error) {
          if (!isNoObject(error)) throw error;
        }
      }),
  };
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, "wx");
  await file.writeFile(bytes);
  await file.datasync();
}

async function readFile(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (isNoObject(error)) return undefined;
    throw error;
  }
  await using opened = file;
  const info = await opened.stat();
  if (!info.isFile()) return undefined;
  if (!range) return await opened.readFile();
  const buffer = Buffer.alloc(Math.max(0, Math.min(range.length, info.size - range.offset)));
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await opened.read(buffer, filled, buffer.length - filled, range.offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function sweep(folder: string): Promise<void> {
  const before = plusMs(unixNow(), -ABANDONED_MS);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    try {
      if ((await stat(path)).mtimeMs < before) await rm(path);
    } catch (error) {
      // Another process sweeps as well.
      if (!hasFileCode(error, "ENOENT")) throw error;
    }
  }
}

/** There is no file of this name: nothing, a folder, or a file where a folder would have to be. */
function isNoObject(error: unknown): boolean {
  return hasFileCode(error, "ENOENT", "ENOTDIR", "EISDIR", "ERR_FS_EISDIR");
}
