import { type Archive, type ArchiveState, type BlobStore, COPIES, parsePartKey } from "@reprise/archive";
import { OPS_STREAM } from "@reprise/protocol";

/**
 * Removes parts of copies that no commit names: their key is destroyed, their time is over, or their archiver died before the commit. Parts of
 * messages of OPS that are not archived yet may still be committed, and are left.
 * @param tenant default: all
 * @returns the removed keys
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function sweepCopies(
  { archive, store }: { readonly archive: Archive; readonly store: BlobStore },
  tenant?: string,
): Promise<string[]> {
  const keys: string[] = [];
  const prefix = tenant === undefined ? COPIES : `${COPIES}tenant=${tenant}/`;
  for await (const { key } of store.list(prefix)) keys.push(key);
  if (keys.length === 0) return [];
  // Commits are read after the list, so a commit that names a listed part is among them.
  await archive.refresh();
  const kept = new Map<string, ReadonlySet<string>>();
  const removed: string[] = [];
  for (const key of keys) {
    const part = parsePartKey(key);
    if (!part || !isPassed(archive.state, part)) continue;
    const live = kept.get(part.tenant) ?? new Set(archive.state.copies(part.tenant).keys());
    kept.set(part.tenant, live);
    if (live.has(part.key)) continue;
    await store.delete(key);
    removed.push(key);
  }
  return removed;
}

function isPassed(
  { lanes }: ArchiveState,
  { epoch, streamSeq }: { readonly epoch: number; readonly streamSeq: number },
): boolean {
  const lane = lanes.get(OPS_STREAM);
  return lane !== undefined && (epoch < lane.epoch || (epoch === lane.epoch && streamSeq <= lane.last));
}
