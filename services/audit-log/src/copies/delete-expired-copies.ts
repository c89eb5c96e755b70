import { isDeepStrictEqual } from "node:util";
import type { Archive, BlobCopy } from "@reprise/archive";
import type { UnixMs } from "@reprise/protocol";

const DAY_MS = 86_400_000;
const DAY_CHARS = 10;

/**
 * Removes expired copies of blobs from the archive, except those that a legal hold keeps, by one commit with a record that names them. The sweep
 * removes their parts.
 * @param isHeldGeneration true if a legal hold keeps the blobs of a generation
 * @returns the copies
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function deleteExpiredCopies(
  { archive }: { readonly archive: Archive },
  tenant: string,
  {
    maxDays,
    nowMs,
    isHeldGeneration,
  }: { maxDays: number; nowMs: UnixMs; isHeldGeneration: (generation: string) => boolean },
): Promise<BlobCopy[]> {
  const holds = archive.state.holds(tenant);
  if (holds.some(({ tag, generation }) => tag === undefined && generation === undefined)) return [];
  const tags = new Set(holds.flatMap(({ tag }) => tag ?? []));
  const isHeld = ({ tag, generation }: BlobCopy) =>
    (tag !== undefined && tags.has(tag)) || (generation !== undefined && isHeldGeneration(generation));
  const isOver = ({ at }: BlobCopy) => Date.parse(at.slice(0, DAY_CHARS)) + (maxDays + 1) * DAY_MS <= nowMs;
  const gone = [...archive.state.copies(tenant).values()].filter((copy) => isOver(copy) && !isHeld(copy));
  if (gone.length === 0) return [];
  const at = new Date(nowMs).toISOString();
  const record = { kind: "copies_deleted" as const, at, keys: gone.map(({ key }) => key) };
  const outcome = await archive.append((state) => {
    const isSame = isDeepStrictEqual(
      state.holds(tenant).map(({ id }) => id),
      holds.map(({ id }) => id),
    );
    const live = state.copies(tenant);
    // A hold that was set meanwhile, or an erasure that was finished, is applied in the next round.
    if (!isSame || !gone.every(({ key }) => live.has(key))) return undefined;
    return { tenants: [{ tenant, leaves: [], files: [], removes: [], records: [record] }] };
  });
  return outcome.kind === "committed" ? gone : [];
}
