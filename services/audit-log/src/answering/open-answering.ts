import { ArchiveReader, openArchive } from "@reprise/archive";
import type { Broker } from "@reprise/log";
import { ArchiveSearch } from "../search/archive-search.ts";
import { openFetchedFiles } from "../search/fetched-files.ts";
import { localFiles } from "../search/searchable-files.ts";
import type { AuditStorage } from "../storage.ts";
import { startAnswering } from "./start-answering.ts";

export interface OpenAnsweringOptions {
  connection: Broker["main"];
  storage: Pick<AuditStorage, "name" | "store" | "dir" | "keyring">;
  /** For files of an archive in an object store while they are searched in. A folder of this process. */
  cacheDir: string;
  onError: (error: unknown) => void;
}

/** What is kept of files that nobody searches in now. */
const CACHE_BYTES = 1_073_741_824;

/**
 * Reads the archive for itself and answers from it: whatever holds up those who write to it does not hold up who reads it.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function openAnswering(options: OpenAnsweringOptions): Promise<AsyncDisposable> {
  const { connection, storage, cacheDir, onError } = options;
  const { name, store, dir, keyring } = storage;
  const archive = await openArchive({ store, name });
  const files =
    dir === undefined
      ? await openFetchedFiles({ store, dir: cacheDir, maxBytes: CACHE_BYTES })
      : localFiles(dir);
  const stack = new AsyncDisposableStack();
  const search = stack.use(new ArchiveSearch({ archive, keyring, files }));
  const reader = new ArchiveReader({ archive, keyring });
  stack.use(startAnswering({ connection, archive, reader, search, onError }));
  return stack;
}
