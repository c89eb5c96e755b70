import {
  type Archive,
  ARCHIVE_TREE,
  checkpointKey,
  commitKey,
  cosignedKey,
  parseCheckpoint,
  parseCommit,
  parseNote,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";

/** A checkpoint as it is signed. */
export interface SignedCheckpoint {
  readonly origin: string;
  readonly size: number;
  readonly note: string;
}

/** @throws RepriseError `archive_corrupt` */
export function toSignedCheckpoint(note: string): SignedCheckpoint {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  return { origin, size, note };
}

/** The newest checkpoint of the archive's own tree; undefined before the first commit. */
export function archiveCheckpoint({ store }: Archive): Promise<SignedCheckpoint | undefined> {
  return readCheckpoint(store, checkpointKey(ARCHIVE_TREE));
}

/**
 * The newest checkpoint of a tree that witnesses have cosigned, with their signatures. One that can't be read is none: witnesses can be
 * asked again.
 */
export async function cosignedCheckpoint(
  { store }: Archive,
  tree: string,
): Promise<SignedCheckpoint | undefined> {
  try {
    return await readCheckpoint(store, cosignedKey(tree));
  } catch (error) {
    if (error instanceof RepriseError && error.code === "archive_corrupt") return undefined;
    throw error;
  }
}

/**
 * The newest checkpoints of tenants that have any. Reads commits from the last one back until it has met all of these tenants.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function newestCheckpoints(
  archive: Archive,
  tenants: Iterable<string>,
): Promise<Map<string, SignedCheckpoint>> {
  const found = new Map<string, SignedCheckpoint>();
  const missing = new Set(tenants);
  for (let n = archive.state.next - 1; n >= 0 && missing.size > 0; n--) {
    const bytes = await archive.store.get(commitKey(n));
    if (!bytes) throw new RepriseError("archive_corrupt", `Commit ${n} is missing.`);
    for (const { tenant, checkpoint } of parseCommit(bytes, n).tenants)
      if (missing.delete(tenant)) found.set(tenant, toSignedCheckpoint(checkpoint));
  }
  return found;
}

async function readCheckpoint(store: Archive["store"], key: string): Promise<SignedCheckpoint | undefined> {
  const bytes = await store.get(key);
  return bytes && toSignedCheckpoint(Buffer.from(bytes).toString());
}
