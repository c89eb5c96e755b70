import type { Archive } from "./archive.ts";
import { ARCHIVE_TREE } from "./commit.ts";
import { splitHashes } from "./hashes.ts";
import { hashLeaf } from "../merkle/hash.ts";
import type { HashReader } from "../merkle/hash-reader.ts";
import { MerkleTree } from "../merkle/merkle-tree.ts";
import { readHashesFromTiles } from "../merkle/read-hashes-from-tiles.ts";

/** A tree as it is now; it does not grow any more. */
export interface OpenTree {
  readonly size: number;
  readonly hashes: HashReader;
}

/** @param name a tenant, or `ARCHIVE_TREE` */
export function openTree(archive: Archive, name: string): OpenTree {
  const growing = name === ARCHIVE_TREE ? archive.state.archiveTree : archive.state.tree(name);
  const tree = MerkleTree.of(growing.toJSON());
  const { store } = archive;
  return {
    size: tree.size,
    hashes: readHashesFromTiles({ store, name, tree, leaves: () => leavesOf(archive, name) }),
  };
}

async function* leavesOf(archive: Archive, name: string): AsyncGenerator<Uint8Array> {
  for await (const { commit, bytes } of archive.commits()) {
    if (name === ARCHIVE_TREE) yield hashLeaf(bytes);
    const part = commit.tenants.find(({ tenant }) => tenant === name);
    if (part) yield* splitHashes(part.leaves);
  }
}
