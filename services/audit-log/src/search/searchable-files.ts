import type { ArchiveFile } from "@reprise/archive";
import { join } from "node:path";

/** Where DuckDB finds the files of an archive: it reads from local disks alone. */
export interface SearchableFiles {
  /** Calls back with the paths of the files, in their order; they stay there until that is done. */
  use<T>(files: readonly ArchiveFile[], work: (paths: readonly string[]) => Promise<T>): Promise<T>;
}

/** Of an archive that lies in a local folder. */
export function localFiles(dir: string): SearchableFiles {
  return { use: (files, work) => work(files.map(({ key }) => join(dir, key))) };
}
