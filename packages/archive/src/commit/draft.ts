import { hashLeaf } from "../merkle/hash.ts";
import { MerkleTree } from "../merkle/merkle-tree.ts";
import { encodeCheckpoint } from "../note/checkpoint.ts";
import type { NoteKey } from "../note/note-key.ts";
import { signNote } from "../note/signed-note.ts";
import { toLeafData } from "../segment/segment-header.ts";
import type { ArchiveState } from "./archive-state.ts";
import type { ArchiveFile, Commit, Lane, TenantPart } from "./commit.ts";
import { joinHashes } from "./hashes.ts";
import { commitSubject } from "../store/paths.ts";
import { type ArchiveRecord, encodeArchiveRecord } from "./record.ts";
import { signJson } from "./signed-json.ts";

/** A tenant's part of a draft. */
export interface TenantDraft {
  readonly tenant: string;
  /** Leaf hashes of new segments, in the order of the files and of the segments in them. */
  readonly leaves: readonly Uint8Array[];
  readonly files: readonly ArchiveFile[];
  readonly removes: readonly string[];
  readonly records: readonly ArchiveRecord[];
}

/** The content of a commit to come. Its files are stored, and its keys too. */
export interface Draft {
  readonly lane?: Lane | undefined;
  readonly tenants: readonly TenantDraft[];
}

/** Who makes a commit. */
export interface Committer {
  /** Name of the archive. */
  readonly archive: string;
  /** Name of the process. */
  readonly name: string;
  readonly signer: NoteKey;
}

const EMPTY = new Uint8Array();

/** Turns a draft into the commit that follows all commits in `state`. */
export function toCommit({ lane, tenants }: Draft, state: ArchiveState, by: Committer): Commit {
  const parts = tenants
    .toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1))
    .map((draft) => toPart(draft, state, by));
  const body = {
    v: 1 as const,
    n: state.next,
    prev: state.headHash,
    at: new Date().toISOString(),
    writer: by.name,
    ...(lane && { lane }),
    tenants: parts,
  };
  return signJson(body, commitSubject(by.archive, body.n), by.signer);
}

function toPart(
  { tenant, leaves, files, removes, records }: TenantDraft,
  state: ArchiveState,
  { archive, signer }: Committer,
): TenantPart {
  const recordLeaves = records.map((record) =>
    hashLeaf(toLeafData(encodeArchiveRecord(tenant, record), EMPTY)),
  );
  const all = [...leaves, ...recordLeaves];
  const tree = MerkleTree.of(state.tree(tenant).toJSON());
  for (const leaf of all) tree.append(leaf);
  return {
    tenant,
    leaves: joinHashes(all),
    files: [...files],
    removes: [...removes],
    records: [...records],
    checkpoint: signTree(archive, tenant, tree, signer),
  };
}

/** The signed checkpoint of a tree as it is. */
export function signTree(archive: string, name: string, tree: MerkleTree, signer: NoteKey): string {
  const origin = `${archive}/${name}`;
  return signNote(encodeCheckpoint({ origin, size: tree.size, root: tree.root() }), [signer]);
}
