import { type BlobStore, openSegmentFile, type SegmentHeader } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";

/** A file, and the headers of its segments. */
export interface StoredHeaders {
  readonly key: string;
  readonly headers: readonly SegmentHeader[];
}

/**
 * The headers of all files of a tenant that lie in the store: those too that no commit has named, or none names any more. What is deleted
 * meanwhile is left out, and so is what can't be read: one damaged file is no reason to keep what the others hold.
 * @param onDamaged called for each file that can't be read
 * @throws RepriseError `archive_unavailable`
 */
export async function* readStoredHeaders(
  store: BlobStore,
  tenant: string,
  onDamaged: (key: string) => void,
): AsyncGenerator<StoredHeaders> {
  for await (const { key, bytes } of store.list(`data/tenant=${tenant}/`)) {
    const headers = await tryReadHeaders(store, key, bytes);
    if (headers === "damaged") onDamaged(key);
    else if (headers) yield { key, headers };
  }
}

/** @throws RepriseError `archive_unavailable` */
export async function tryReadHeaders(
  store: BlobStore,
  key: string,
  bytes: number,
): Promise<SegmentHeader[] | "damaged" | undefined> {
  try {
    return await readHeaders(store, key, bytes);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "archive_corrupt") return "damaged";
    throw error;
  }
}

/**
 * Undefined when there is no such file.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function readHeaders(
  store: BlobStore,
  key: string,
  bytes: number,
): Promise<SegmentHeader[] | undefined> {
  let isGone = false;
  try {
    const file = await openSegmentFile(async (range) => {
      const part = await store.get(key, range);
      isGone = part === undefined;
      return part ?? new Uint8Array();
    }, bytes);
    return await file.headers();
  } catch (error) {
    if (isGone) return undefined;
    throw error;
  }
}

/** Returns the error for a file that is skipped. */
export function archiveDamaged(key: string): RepriseError {
  return new RepriseError("archive_corrupt", `${key} can't be read: it was passed over.`);
}
