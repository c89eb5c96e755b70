import { type BlobStore, openSegmentFile, type SegmentHeader } from "@reprise/archive";

/** A file, and the headers of its segments. */
export interface StoredHeaders {
  readonly key: string;
  readonly headers: readonly SegmentHeader[];
}

/**
 * The headers of all files of a tenant that lie in the store: those too that no commit has named, or none names any more. What is deleted
 * meanwhile is left out.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function* readStoredHeaders(store: BlobStore, tenant: string): AsyncGenerator<StoredHeaders> {
  for await (const { key, bytes } of store.list(`data/tenant=${tenant}/`)) {
    const headers = await readHeaders(store, key, bytes);
    if (headers) yield { key, headers };
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
