import { RepriseError } from "@reprise/protocol";
import { describe, expect, it, test } from "vitest";
import { EMPTY_ROOT, hashLeaf } from "./hash.ts";
import { MerkleTree, type Tile } from "./merkle-tree.ts";
import { countedLeaves, naiveRoot } from "./naive-tree.fixture.ts";

/** Leaves and roots that implementations of Certificate Transparency are tested with. */
const KNOWN_LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];
const KNOWN_ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

describe("a Merkle tree", () => {
  it("has the roots that Certificate Transparency publishes for its test leaves", () => {
    const tree = new MerkleTree();
    const roots = KNOWN_LEAVES.map((leaf) => {
      tree.append(hashLeaf(Buffer.from(leaf, "hex")));
      return Buffer.from(tree.root()).toString("hex");
    });
    expect(roots).toEqual(KNOWN_ROOTS);
    expect(new MerkleTree().root()).toEqual(EMPTY_ROOT);
  });

  it("keeps hashes in memory of their own, those of leaves and those that it has made of them", () => {
    const tree = new MerkleTree();
    for (const leaf of countedLeaves(257)) tree.append(Buffer.concat([leaf]));
    const kept = [tree.edgeHash(0, 256)!, tree.edgeHash(1, 0)!];
    expect(kept.map(({ buffer }) => buffer.byteLength)).toEqual([32, 32]);
  });

  it("has the root of RFC 6962 at every size up to 600, also when it is read from its JSON each time", () => {
    const leaves = countedLeaves(600);
    const whole = new MerkleTree();
    let restarted = new MerkleTree();
    for (const [i, leaf] of leaves.entries()) {
      whole.append(leaf);
      restarted.append(leaf);
      restarted = MerkleTree.of(JSON.parse(JSON.stringify(restarted)));
      const root = naiveRoot(leaves.slice(0, i + 1));
      expect(Buffer.compare(whole.root(), root), `size ${i + 1}`).toBe(0);
      expect(Buffer.compare(restarted.root(), root), `size ${i + 1}, restarted`).toBe(0);
    }
    expect(restarted).toEqual(MerkleTree.of(whole.toJSON()));
  });

  it("hands out each full tile once, those above it too, and continues after 65,536 leaves", () => {
    const leaves = countedLeaves(65_536 + 300);
    const tree = new MerkleTree();
    const tiles: Tile[] = [];
    for (const leaf of leaves) {
      tree.append(leaf);
      tiles.push(...tree.takeFullTiles());
    }
    expect(Buffer.compare(tree.root(), naiveRoot(leaves))).toBe(0);
    expect(MerkleTree.of(tree.toJSON()).root()).toEqual(tree.root());
    expect(tiles.map(({ level, index }) => [level, index])).toEqual([
      ...Array.from({ length: 256 }, (_, i) => [0, i]),
      [1, 0],
      [0, 256],
    ]);
    const [above] = tiles.filter(({ level }) => level === 1);
    expect(Buffer.from(above!.bytes).subarray(0, 32)).toEqual(naiveRoot(leaves.slice(0, 256)));
  });

  test.each([
    ["no object", 7],
    ["a size below nothing", { size: -1, edge: [] }],
    ["leaves without hashes", { size: 3, edge: [""] }],
    ["a hash that is cut", { size: 1, edge: [Buffer.alloc(31).toString("base64")] }],
    ["a level that is missing", { size: 256, edge: [""] }],
  ])("is not read from %s", (_, json) => {
    expect(() => MerkleTree.of(json)).toThrow(RepriseError);
  });
});
