import { type Archive, type Commit, commitKey, parseCommit } from "@reprise/archive";
import type { Erasure } from "../../records/erasures.ts";

/** The scope of an erasure, and its place in the archive. With the archive's public key, the checkpoint can be verified, and that it covers the commits. */
export interface ErasureCertificate {
  readonly certificate: "reprise.erasure";
  readonly archive: string;
  readonly tenant: string;
  readonly id: string;
  readonly requested_at: string;
  readonly completed_at: string;
  readonly by: string;
  readonly reason: string;
  /** Keyed hash of the subject; undefined for a single generation. */
  readonly tag?: string;
  readonly generations: readonly string[];
  /** Keys that are destroyed. */
  readonly keys: readonly string[];
  /** The commits that hold the request and the destruction. */
  readonly commits: { readonly requested: number; readonly destroyed: number };
  /** The tenant's tree after that, as a signed note. */
  readonly checkpoint: string;
}

/**
 * @throws RangeError when the erasure is not finished; RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function certify(
  archive: Archive,
  tenant: string,
  { id, at, by, reason, tag, generations }: Erasure,
): Promise<ErasureCertificate> {
  let requested: number | undefined;
  let destroyed: Commit | undefined;
  for (let n = archive.state.next - 1; n >= 0 && requested === undefined; n--) {
    const commit = await readCommit(archive, n);
    const part = commit.tenants.find((one) => one.tenant === tenant);
    for (const record of part?.records ?? []) {
      if (!("id" in record) || record.id !== id) continue;
      if (record.kind === "key_destroyed") destroyed = commit;
      else if (record.at === at) requested = n;
    }
  }
  const part = destroyed?.tenants.find((one) => one.tenant === tenant);
  const record = part?.records.find((one) => one.kind === "key_destroyed" && one.id === id);
  if (requested === undefined || !destroyed || !part || record?.kind !== "key_destroyed")
    throw new RangeError(`erasure ${id} is not finished`);
  return {
    certificate: "reprise.erasure",
    archive: archive.name,
    tenant,
    id,
    requested_at: at,
    completed_at: record.at,
    by,
    reason,
    ...(tag !== undefined && { tag }),
    generations,
    keys: record.kids,
    commits: { requested, destroyed: destroyed.n },
    checkpoint: part.checkpoint,
  };
}

async function readCommit({ store }: Archive, n: number): Promise<Commit> {
  return parseCommit((await store.get(commitKey(n))) ?? new Uint8Array(), n);
}
