import { describe, expect, it } from "vitest";
import { tileKey } from "../store/paths.ts";
import { rangeRoot } from "./hash-reader.ts";
import { MerkleTree } from "./merkle-tree.ts";
import { countedLeaves, naiveRoot } from "./naive-tree.fixture.ts";
import { consistencyProof, inclusionProof } from "./proofs.ts";
import { readHashesFromTiles } from "./read-hashes-from-tiles.ts";
import { verifyConsistency, verifyInclusion } from "./verify-proofs.ts";

const SIZE = 65_536 + 700;
const LEAVES = countedLeaves(SIZE);

/** A tree whose tiles are stored. */
function createStoredTree() {
  const tree = new MerkleTree();
  const blobs = new Map<string, Uint8Array>();
  for (const leaf of LEAVES) {
    tree.append(leaf);
    for (const { level, index, bytes } of tree.takeFullTiles())
      blobs.set(tileKey("acme", level, index), bytes);
  }
  const calls = { gets: 0, rebuilt: 0 };
  const hashes = readHashesFromTiles({
    name: "acme",
    tree,
    store: {
      async get(key) {
        calls.gets++;
        return blobs.get(key);
      },
    },
    async *leaves() {
      calls.rebuilt++;
      yield* LEAVES;
    },
  });
  return { tree, blobs, calls, hashes };
}

describe("hashes from tiles", () => {
  it("prove any leaf of a large tree from at most one tile of each level and the tree's edge", async () => {
    for (const index of [0, 255, 256, 65_535, 65_536, SIZE - 1]) {
      const { tree, calls, hashes } = createStoredTree();
      const proof = await inclusionProof(index, SIZE, hashes);
      const claim = { leaf: LEAVES[index]!, index, size: SIZE, root: tree.root(), proof };
      expect(verifyInclusion(claim), `leaf ${index}`).toBe(true);
      expect(calls.gets, `leaf ${index}`).toBeLessThanOrEqual(4);
      expect(calls.rebuilt).toBe(0);
    }
  });

  it("prove that the tree continues from one that it was", async () => {
    const { tree, hashes } = createStoredTree();
    for (const oldSize of [1, 255, 256, 300, 65_536, 66_000, SIZE]) {
      const proof = await consistencyProof(oldSize, SIZE, hashes);
      const oldRoot = naiveRoot(LEAVES.slice(0, oldSize));
      const claim = { oldSize, oldRoot, newSize: SIZE, newRoot: tree.root(), proof };
      expect(verifyConsistency(claim), `from ${oldSize}`).toBe(true);
    }
  });

  it("are computed from the leaves, once, where tiles are missing", async () => {
    const { tree, blobs, calls, hashes } = createStoredTree();
    blobs.clear();
    expect(await rangeRoot(0, SIZE, hashes)).toEqual(tree.root());
    const some = [3, 70, 1_000, 65_000];
    const leaves = await Promise.all(some.map((i) => hashes(0, i)));
    expect(Buffer.concat(leaves)).toEqual(Buffer.concat(some.map((i) => LEAVES[i]!)));
    expect(calls.rebuilt).toBe(1);
  });

  it("are not given for a tile that is cut, nor beyond the tree", async () => {
    const { blobs, hashes } = createStoredTree();
    blobs.set(tileKey("acme", 0, 7), Buffer.alloc(32 * 255));
    await expect(hashes(0, 7 * 256)).rejects.toMatchObject({ code: "archive_corrupt" });
    await expect(hashes(0, SIZE)).rejects.toThrow(RangeError);
    await expect(hashes(17, 0)).rejects.toThrow(RangeError);
  });
});
