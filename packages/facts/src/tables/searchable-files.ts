import { join } from "node:path";
import type { ArchiveFile } from "@reprise/archive";

/** A file of a store, whose name always means the same bytes. */
export type StoredFile = Pick<ArchiveFile, "key" | "sha256" | "bytes">;

/** Where DuckDB finds the files of a store: it reads from local disks alone. */
export interface SearchableFiles {
  /** Calls back with the paths of the files, in their order; they stay there until that is done. */
  use<T>(files: readonly StoredFile[], work: (paths: readonly string[]) => Promise<T>): Promise<T>;
}

/** Files of a store that is a local folder. */
export function localFiles(dir: string): SearchableFiles {
  return { use: (files, work) => work(files.map(({ key }) => join(dir, key))) };
}

/** DuckDB takes a path for a pattern. */
export function escapeGlob(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}
