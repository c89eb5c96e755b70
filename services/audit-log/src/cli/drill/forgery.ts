import {
  ARCHIVE_TREE,
  checkpointKey,
  type Commit,
  commitKey,
  encodeCheckpoint,
  hashLeaf,
  MerkleTree,
  type NoteKey,
  parseCheckpoint,
  parseCommit,
  parseNote,
  readSegmentFile,
  type Segment,
  sha256Hex,
  signJson,
  signNote,
  SNAPSHOT_KEY,
  splitHashes,
  type BlobStore,
  type TenantPart,
} from "@reprise/archive";

/** An archive without merged files can't lose one in a merge. */
export class NotApplicable extends Error {}

/** What an archive has, or most archives have. @throws NotApplicable when this one does not */
export function existing<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotApplicable(`no ${what}`);
  return value;
}

/** @throws NotApplicable when the archive has no such object */
export async function readObject(store: BlobStore, key: string): Promise<Uint8Array> {
  return existing(await store.get(key), `object ${key}`);
}

/** @throws NotApplicable when the archive has no such file, or one without segments */
export async function readSegments(store: BlobStore, key: string): Promise<[Segment, ...Segment[]]> {
  const [first, ...rest] = await readSegmentFile(await readObject(store, key));
  return [existing(first, `segment in ${key}`), ...rest];
}

/** What tenants have in the commits, in their order. */
export function partsOf(commits: readonly Commit[]): TenantPart[] {
  return commits.flatMap(({ tenants }) => tenants);
}

/** Of the files that were merged. */
export function removedKeys(commits: readonly Commit[]): Set<string> {
  return new Set(partsOf(commits).flatMap(({ removes }) => removes));
}

/*
 * What an attacker can do that may write all of an archive's objects and knows their format: each change comes with all that makes
 * the rest fit. The attacker lacks the signing key, and cannot change the witness's memory.
 */

export async function readCommits(store: BlobStore): Promise<Commit[]> {
  const commits: Commit[] = [];
  for (let n = 0; ; n++) {
    const bytes = await store.get(commitKey(n));
    if (!bytes) return commits;
    commits.push(parseCommit(bytes, n));
  }
}

/** Writes commits so that each follows the one before, in place of all that were there. The snapshot, which would tell, is gone. */
export async function writeCommits(
  store: BlobStore,
  commits: readonly Commit[],
  key?: NoteKey,
): Promise<void> {
  const before = await readCommits(store);
  let prev = "0".repeat(64);
  for (const [n, { signed, ...commit }] of commits.entries()) {
    const body = { ...commit, n, prev };
    const forged = key ? signJson(body, { origin: originOf(signed), n }, key) : { ...body, signed };
    const bytes = Buffer.from(JSON.stringify(forged));
    await store.put(commitKey(n), bytes);
    prev = sha256Hex(bytes);
  }
  for (let n = commits.length; n < before.length; n++) await store.delete(commitKey(n));
  await store.delete(SNAPSHOT_KEY);
}

/** Makes all trees anew, and signs them: with a key of one's own, or with the archive's. */
export async function signAgain(store: BlobStore, key: NoteKey): Promise<void> {
  const trees = new Map<string, MerkleTree>();
  const commits = (await readCommits(store)).map((commit) => ({
    ...commit,
    tenants: commit.tenants.map((part) => {
      const tree = trees.get(part.tenant) ?? new MerkleTree();
      trees.set(part.tenant, tree);
      for (const leaf of splitHashes(part.leaves)) tree.append(leaf);
      return { ...part, checkpoint: signLike(part.checkpoint, tree, key) };
    }),
  }));
  await writeCommits(store, commits, key);
  const tree = new MerkleTree();
  for (let n = 0; n < commits.length; n++) tree.append(hashLeaf(await readObject(store, commitKey(n))));
  const place = checkpointKey(ARCHIVE_TREE);
  const note = Buffer.from(await readObject(store, place)).toString();
  await store.put(place, Buffer.from(signLike(note, tree, key)));
}

function originOf(note: string): string {
  return parseCheckpoint(parseNote(note).text).origin;
}

function signLike(note: string, tree: MerkleTree, key: NoteKey): string {
  return signNote(encodeCheckpoint({ origin: originOf(note), size: tree.size, root: tree.root() }), [key]);
}

/** The same commits, with one of them changed. */
export function changed(
  commits: readonly Commit[],
  which: (commit: Commit) => boolean,
  change: (commit: Commit) => Commit,
): Commit[] {
  const at = commits.findIndex(which);
  if (at < 0) throw new NotApplicable("no such commit");
  return commits.map((commit, i) => (i === at ? change(commit) : commit));
}
