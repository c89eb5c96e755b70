import {
  consistencyProof,
  createNoteKey,
  encodeCheckpoint,
  hashLeaf,
  hashNode,
  type HashReader,
  MerkleTree,
  signNote,
} from "@reprise/archive";

/** Signs what no test says otherwise about. */
export const LOG = createNoteKey("reprise", Buffer.alloc(32, 1));
export const ORIGIN = "reprise/acme";

/** A tree that grows, and what its log says of it. Two of different names are two histories. */
export function createHistory(name: string, count: number) {
  const leaves = Array.from({ length: count }, (_, i) => hashLeaf(Buffer.from(`${name} ${i}`)));
  const hashes: HashReader = async (level, index) => {
    if (level === 0) return leaves[index]!;
    return hashNode(await hashes(level - 1, 2 * index), await hashes(level - 1, 2 * index + 1));
  };
  const root = (size: number) => {
    const tree = new MerkleTree();
    for (const leaf of leaves.slice(0, size)) tree.append(leaf);
    return tree.root();
  };
  return {
    hashes,
    proof: (oldSize: number, size: number) => consistencyProof(oldSize, size, hashes),
    note: (size: number, signer = LOG, origin = ORIGIN) =>
      signNote(encodeCheckpoint({ origin, size, root: root(size) }), [signer]),
  };
}

export type History = ReturnType<typeof createHistory>;
