import { RepriseError } from "@reprise/protocol";
import { ArchiveState } from "../commit/archive-state.ts";
import { parseCommit } from "../commit/read-commits.ts";
import { ARCHIVE_TREE, type ArchiveFile, type Commit, type TenantPart } from "../commit/commit.ts";
import { splitHashes } from "../commit/hashes.ts";
import { commitKey, commitSubject, SNAPSHOT_KEY, tileKey } from "../store/paths.ts";
import { type BlobCopy, encodeArchiveRecord } from "../commit/record.ts";
import { isSignedJson } from "../commit/signed-json.ts";
import { isCopyKeyOf } from "../copies/copy-keys.ts";
import { hashLeaf } from "../merkle/hash.ts";
import type { MerkleTree } from "../merkle/merkle-tree.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import { toLeafData } from "../segment/segment-header.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { Findings } from "./finding.ts";
import { LaneWalk } from "./lane-walk.ts";
import { isKeyOf } from "./segment-place.ts";
import type { TreeClaims } from "./tree-claims.ts";

/** The claims of the commits about a tenant, which its files have to confirm. */
export interface ClaimedTenant {
  /** Leaves of segments, in latin1; no two are equal. */
  readonly leaves: Set<string>;
  /** The files of the archive, and the commit that has named each. */
  readonly files: Map<string, { readonly n: number; readonly file: ArchiveFile }>;
  /** The same of copies of blobs: also of those whose key is destroyed. */
  readonly copies: Map<string, { readonly n: number; readonly copy: BlobCopy }>;
  /** Segments of files that retention has deleted: their leaves are in the tree for good. */
  deletedSegments: number;
}

export interface WalkedCommits {
  readonly state: ArchiveState;
  readonly tenants: ReadonlyMap<string, ClaimedTenant>;
  readonly commits: number;
  /** Streams that lost something before it was archived, or that were archived in several epochs. */
  readonly broken: ReadonlySet<string>;
}

export interface WalkOptions {
  store: BlobStore;
  /** Name of the archive. */
  name: string;
  vkeys: readonly VerifierKey[];
  claims: TreeClaims;
  findings: Findings;
}

const EMPTY = new Uint8Array();
/** No tree of a tenant is mistaken for that of the archive, or of another archive. */
const TENANT = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Reads all commits in order and makes of them what they amount to: that each follows the one before, that each stream's stretches join, that
 * each tenant's tree is what was signed. Stops at the first commit that can't be one.
 * @throws RepriseError `archive_unavailable`
 */
export async function walkCommits(options: WalkOptions): Promise<WalkedCommits> {
  const { store, claims, findings, vkeys } = options;
  const state = new ArchiveState();
  const tenants = new Map<string, ClaimedTenant>();
  const lanes = new LaneWalk(findings);
  const snapshot = await readSnapshot(store);
  const checkSnapshot = () => {
    if (snapshot === "damaged") return;
    if (snapshot?.next === state.next && snapshot.text !== JSON.stringify(state))
      findings.add("tampered", SNAPSHOT_KEY, `is not what the first ${state.next} commits amount to`);
  };
  checkSnapshot();
  for (let n = 0; ; n++) {
    const bytes = await store.get(commitKey(n));
    if (!bytes) break;
    try {
      const commit = parseCommit(bytes, n);
      const grown = state.apply(commit, bytes);
      lanes.take(commit);
      if (vkeys.length > 0 && !isSignedJson(bytes, commit.signed, commitSubject(options.name, n), vkeys))
        findings.add("tampered", commitKey(n), "is signed by none of the given keys");
      const names = commit.tenants.map(({ tenant }) => tenant);
      if (!names.every((one, i) => TENANT.test(one) && (names[i - 1] ?? "") < one))
        findings.add("tampered", commitKey(n), "its tenants are not some, each once, in their order");
      for (const part of commit.tenants) checkPart(part, commit, state, tenants, options);
      for (const { name, tree } of [...grown, { name: ARCHIVE_TREE, tree: state.archiveTree }]) {
        claims.check(name, tree, findings);
        await checkTiles(store, name, tree, findings);
      }
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "archive_corrupt") throw error;
      findings.add("tampered", commitKey(n), error.message);
      break;
    }
    checkSnapshot();
  }
  lanes.end();
  if (snapshot === "damaged") findings.add("tampered", SNAPSHOT_KEY, "is no snapshot");
  else if (snapshot && snapshot.next > state.next)
    findings.add("tampered", SNAPSHOT_KEY, `is of ${snapshot.next} commits, and there are ${state.next}`);
  await findLaterCommits(store, state.next, findings);
  claims.checkEnds((tree) => (tree === ARCHIVE_TREE ? state.archiveTree : state.tree(tree)).size, findings);
  return { state, tenants, commits: state.next, broken: lanes.broken };
}

function checkPart(
  part: TenantPart,
  commit: Commit,
  state: ArchiveState,
  tenants: Map<string, ClaimedTenant>,
  { name, vkeys, findings }: WalkOptions,
): void {
  const where = commitKey(commit.n);
  const { tenant, files, removes, records } = part;
  let known = tenants.get(tenant);
  if (!known) {
    known = { leaves: new Set(), files: new Map(), copies: new Map(), deletedSegments: 0 };
    tenants.set(tenant, known);
  }
  const leaves = splitHashes(part.leaves);
  const ofSegments = leaves.slice(0, leaves.length - records.length);
  const isMerge = removes.length > 0 && files.length > 0;
  const segments = isMerge ? 0 : files.reduce((sum, file) => sum + file.segments, 0);
  if (ofSegments.length !== segments)
    findings.add("tampered", where, `${tenant} has ${ofSegments.length} new leaves for ${segments} segments`);
  for (const leaf of ofSegments) {
    const text = Buffer.from(leaf).toString("latin1");
    if (known.leaves.has(text)) findings.add("tampered", where, `${tenant} has a leaf twice`);
    known.leaves.add(text);
  }
  for (const [i, record] of records.entries()) {
    const leaf = hashLeaf(toLeafData(encodeArchiveRecord(tenant, record), EMPTY));
    if (Buffer.compare(leaf, leaves[ofSegments.length + i] ?? EMPTY) !== 0)
      findings.add("tampered", where, `the leaf of a record (${record.kind}) of ${tenant} is another one`);
  }
  checkRemovals(part, known, where, findings);
  takeCopies(part, commit.n, known, findings);
  for (const key of removes) known.files.delete(key);
  for (const file of files) {
    if (isKeyOf(tenant, file)) known.files.set(file.key, { n: commit.n, file });
    else findings.add("tampered", where, `it names a file that can't be one of ${tenant}: ${file.key}`);
  }
  checkCheckpoint(part, state.tree(tenant), `${name}/${tenant}`, { where, vkeys, findings });
}

/** Files go because others hold their segments, or because a record says that their time is over. */
function checkRemovals(
  { tenant, files, removes, records }: TenantPart,
  known: ClaimedTenant,
  where: string,
  findings: Findings,
): void {
  if (removes.length === 0) return;
  const gone = removes.flatMap((key) => known.files.get(key)?.file ?? []);
  if (gone.length !== removes.length)
    findings.add("tampered", where, `it removes files of ${tenant} that were not there`);
  const segments = gone.reduce((sum, file) => sum + file.segments, 0);
  const events = gone.reduce((sum, file) => sum + file.events, 0);
  const deleted = records.flatMap((record) => (record.kind === "retention_deleted" ? record.files : []));
  if (files.length > 0) {
    const isWhole =
      segments === files.reduce((sum, file) => sum + file.segments, 0) &&
      events === files.reduce((sum, file) => sum + file.events, 0);
    if (!isWhole) findings.add("tampered", where, `merged files of ${tenant} hold less or more than before`);
    return;
  }
  const named = new Map(deleted.map(({ key, sha256 }) => [key, sha256]));
  const areNamed = gone.every(({ key, sha256 }) => named.get(key) === sha256);
  if (!areNamed) findings.add("tampered", where, `it removes files of ${tenant}, and no record says why`);
  known.deletedSegments += segments;
}

/** Copies come by their records, and go by others. */
function takeCopies(
  { tenant, records }: TenantPart,
  n: number,
  known: ClaimedTenant,
  findings: Findings,
): void {
  const where = commitKey(n);
  for (const record of records) {
    if (record.kind === "blob_copied") {
      const isNew = isCopyKeyOf(tenant, record) && !known.copies.has(record.key);
      if (isNew) known.copies.set(record.key, { n, copy: record });
      else
        findings.add(
          "tampered",
          where,
          `it names a copy that can't be a new one of ${tenant}: ${record.key}`,
        );
    } else if (record.kind === "copies_deleted") {
      for (const key of record.keys)
        if (!known.copies.delete(key))
          findings.add("tampered", where, `it removes a copy of ${tenant} that was not there: ${key}`);
    } else if (record.kind === "blob_missed") {
      const kind = record.reason === "erased" ? "note" : "gap";
      findings.add(
        kind,
        where,
        `the bytes of ${record.blob} of ${tenant} are not archived: ${record.reason}`,
      );
    }
  }
}

function checkCheckpoint(
  { tenant, checkpoint }: TenantPart,
  tree: MerkleTree,
  origin: string,
  { where, vkeys, findings }: { where: string } & Pick<WalkOptions, "vkeys" | "findings">,
): void {
  try {
    const { text, verified } = openNote(checkpoint, vkeys);
    const said = parseCheckpoint(text);
    if (vkeys.length > 0 && verified.length === 0)
      findings.add("tampered", where, `the checkpoint of ${tenant} is signed by none of the given keys`);
    const isRight =
      said.origin === origin && said.size === tree.size && Buffer.compare(said.root, tree.root()) === 0;
    if (!isRight) findings.add("tampered", where, `the checkpoint of ${tenant} is not that of its tree`);
  } catch (error) {
    findings.add("tampered", where, `the checkpoint of ${tenant}: ${(error as Error).message}`);
  }
}

async function checkTiles(
  store: BlobStore,
  name: string,
  tree: MerkleTree,
  findings: Findings,
): Promise<void> {
  for (const { level, index, bytes } of tree.takeFullTiles()) {
    const key = tileKey(name, level, index);
    const there = await store.get(key);
    if (!there) findings.add("note", key, "is missing, and follows from the commits");
    else if (Buffer.compare(there, bytes) !== 0)
      findings.add("tampered", key, "is not what the commits amount to");
  }
}

/** A hole in the numbers is no end. */
async function findLaterCommits(store: BlobStore, next: number, findings: Findings): Promise<void> {
  for await (const { key } of store.list("_log/")) {
    const number = /\/([0-9]{10})\.json$/.exec(key)?.[1];
    if (number !== undefined && Number(number) > next) {
      findings.add("tampered", commitKey(next), `is missing or wrong, and there is ${key}`);
      return;
    }
  }
}

async function readSnapshot(
  store: BlobStore,
): Promise<{ next: number; text: string } | "damaged" | undefined> {
  const bytes = await store.get(SNAPSHOT_KEY);
  if (!bytes) return undefined;
  try {
    // What it says counts, however it is written.
    const state = ArchiveState.of(JSON.parse(Buffer.from(bytes).toString()));
    return { next: state.next, text: JSON.stringify(state) };
  } catch {
    return "damaged";
  }
}
