import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "@reprise/archive";
import { Semaphore } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { ByteBudget } from "./byte-budget.ts";
import type { SearchableFiles, StoredFile } from "./searchable-files.ts";

export interface FetchedFilesOptions {
  store: Pick<BlobStore, "get">;
  /** A folder of its own. What is in it from before is removed. */
  dir: string;
  /** The limit for files that no search uses now. */
  maxBytes: number;
  /** The limit for files that searches use now: one that needs more waits for others. Default: none. */
  maxUsedBytes?: number;
}

/** Each is whole in memory until it is on the disk. */
const FETCHES_AT_A_TIME = 8;

interface Fetched {
  readonly path: string;
  readonly bytes: number;
  readonly ready: Promise<void>;
  users: number;
}

/**
 * Files of an object store, fetched when they are searched in first. Those that were not searched in the longest are removed
 * when there are too many. A few are fetched at a time, for all searches together.
 */
export async function openFetchedFiles({
  store,
  dir,
  maxBytes,
  maxUsedBytes = Number.POSITIVE_INFINITY,
}: FetchedFilesOptions): Promise<SearchableFiles> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fetched = new Map<string, Fetched>();
  const gate = new Semaphore(FETCHES_AT_A_TIME);
  const used = new ByteBudget(maxUsedBytes);

  const fetch = async ({ key }: StoredFile, path: string) => {
    const bytes = await store.get(key);
    if (!bytes) throw new RepriseError("archive_unavailable", `${key} is not there.`);
    await writeFile(`${path}.part`, bytes);
    await rename(`${path}.part`, path);
  };

  const take = (file: StoredFile): Fetched => {
    const path = join(dir, `${file.sha256}.parquet`);
    const one = fetched.get(path) ?? {
      path,
      bytes: file.bytes,
      ready: gate.run(() => fetch(file, path)),
      users: 0,
    };
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
      const bytes = files.reduce((all, one) => all + one.bytes, 0);
      using _ = await used.take(bytes);
      const taken = files.map(take);
      try {
        await Promise.all(taken.map(({ ready }) => ready));
        return await work(taken.map(({ path }) => path));
      } catch (error) {
        for (const one of taken) one.ready.catch(() => fetched.delete(one.path));
        throw error;
      } finally {
        // A failure leaves other fetches under way: their files are used until they are there.
        await Promise.allSettled(taken.map(({ ready }) => ready));
        for (const one of taken) one.users--;
        await removeOldest();
      }
    },
  };
}
