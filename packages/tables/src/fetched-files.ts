import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { SearchableFiles, StoredFile } from "./searchable-files.ts";

export interface FetchedFilesOptions {
  store: Pick<BlobStore, "get">;
  /** A folder of its own. What is in it from before is removed. */
  dir: string;
  /** The limit for files that no search uses now. */
  maxBytes: number;
}

interface Fetched {
  readonly path: string;
  readonly bytes: number;
  readonly ready: Promise<void>;
  users: number;
}

/**
 * Files of an object store, fetched when they are searched in first. Those that were not searched in the longest are removed
 * when there are too many.
 */
export async function openFetchedFiles({
  store,
  dir,
  maxBytes,
}: FetchedFilesOptions): Promise<SearchableFiles> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fetched = new Map<string, Fetched>();

  const fetch = async ({ key }: StoredFile, path: string) => {
    const bytes = await store.get(key);
    if (!bytes) throw new RepriseError("archive_unavailable", `${key} is not there.`);
    await writeFile(`${path}.part`, bytes);
    await rename(`${path}.part`, path);
  };

  const take = (file: StoredFile): Fetched => {
    const path = join(dir, `${file.sha256}.parquet`);
    const one = fetched.get(path) ?? { path, bytes: file.bytes, ready: fetch(file, path), users: 0 };
    one.users++;
    fetched.delete(path);
    fetched.set(path, one);
    return one;
  };

  const removeOldest = async () => {
    let bytes = [...fetched.values()].reduce((all, one) => all + one.bytes, 0);
    for (const [path, one] of fetched) {
      if (bytes <= maxBytes) return;
      if (one.users > 0) continue;
      fetched.delete(path);
      bytes -= one.bytes;
      await rm(path, { force: true });
    }
  };

  return {
    async use(files, work) {
      const taken = files.map(take);
      try {
        await Promise.all(taken.map(({ ready }) => ready));
        return await work(taken.map(({ path }) => path));
      } catch (error) {
        for (const one of taken) one.ready.catch(() => fetched.delete(one.path));
        throw error;
      } finally {
        for (const one of taken) one.users--;
        await removeOldest();
      }
    },
  };
}
