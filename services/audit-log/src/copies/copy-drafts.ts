import {
  type ArchiveRecord,
  type ArchiveState,
  type BlobStore,
  removeParts,
  type TenantDraft,
} from "@reprise/archive";
import type { CopiedBlob } from "./copy-blobs.ts";
import { isErasedIn } from "./copy-owners.ts";

/** The records of what was copied, and of what could not be. Of what an erasure takes that `state` knows of it is said that it is not there. */
export function toCopyDrafts(copied: readonly CopiedBlob[], state: ArchiveState): TenantDraft[] {
  const records = new Map<string, ArchiveRecord[]>();
  for (const one of copied) {
    const { at, blob } = one.record;
    const erased = { kind: "blob_missed" as const, at, reason: "erased" as const, blob };
    const record = isErasedIn(state.records(one.tenant), one) ? erased : one.record;
    records.set(one.tenant, [...(records.get(one.tenant) ?? []), record]);
  }
  return [...records].map(([tenant, some]) => ({
    tenant,
    leaves: [],
    files: [],
    removes: [],
    records: some,
  }));
}

/** Removes what was copied and is named by no commit, because of an erasure. @throws RepriseError `archive_unavailable` */
export async function discardErasedCopies(
  copied: readonly CopiedBlob[],
  state: ArchiveState,
  store: BlobStore,
): Promise<void> {
  for (const one of copied) {
    if (one.record.kind === "blob_copied" && isErasedIn(state.records(one.tenant), one))
      await removeParts(store, one.record);
  }
}
