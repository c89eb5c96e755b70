import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedLeaves, naiveHashes, naiveRoot } from "./naive-tree.fixture.ts";
import { consistencyProof, inclusionProof } from "./proofs.ts";
import { verifyConsistency, verifyInclusion } from "./verify-proofs.ts";

const MOST = 300;
const LEAVES = countedLeaves(MOST);
const HASHES = naiveHashes(LEAVES);
const ROOTS = Array.from({ length: MOST + 1 }, (_, size) => naiveRoot(LEAVES.slice(0, size)));

const sizes = Array.from({ length: MOST }, (_, i) => i + 1);
const places = fc
  .integer({ min: 2, max: MOST })
  .chain((size) => fc.tuple(fc.integer({ min: 0, max: size - 1 }), fc.constant(size)));

async function inclusionOf(index: number, size: number) {
  const proof = await inclusionProof(index, size, HASHES);
  return { leaf: LEAVES[index]!, index, size, root: ROOTS[size]!, proof };
}

async function consistencyOf(oldSize: number, newSize: number) {
  const proof = await consistencyProof(oldSize, newSize, HASHES);
  return { oldSize, oldRoot: ROOTS[oldSize]!, newSize, newRoot: ROOTS[newSize]!, proof };
}

/** The proofs that one change away. */
function* mutationsOf(proof: readonly Uint8Array[]): Generator<Uint8Array[]> {
  for (const [i, hash] of proof.entries()) {
    const changed = Uint8Array.from(hash);
    changed[31]! ^= 1;
    yield proof.with(i, changed);
    yield proof.toSpliced(i, 1);
    yield proof.toSpliced(i, 0, hash);
    yield proof.with(i, hash.subarray(0, 31));
    yield proof.with(i, Buffer.concat([hash, hash]));
  }
  yield [...proof, LEAVES[0]!];
}

describe("a proof of inclusion", () => {
  it("shows every leaf of every tree up to 300 leaves", async () => {
    const refused: [number, number][] = [];
    for (const size of sizes)
      for (let index = 0; index < size; index++)
        if (!verifyInclusion(await inclusionOf(index, size))) refused.push([index, size]);
    expect(refused).toEqual([]);
  });

  it("shows nothing once it, or what it is about, was changed", async () => {
    await fc.assert(
      fc.asyncProperty(places, async ([index, size]) => {
        const claim = await inclusionOf(index, size);
        for (const proof of mutationsOf(claim.proof))
          expect(verifyInclusion({ ...claim, proof })).toBe(false);
        const other = (index + 1) % size;
        expect(verifyInclusion({ ...claim, index: other })).toBe(false);
        expect(verifyInclusion({ ...claim, leaf: LEAVES[other]! })).toBe(false);
        expect(verifyInclusion({ ...claim, root: ROOTS[size - 1]! })).toBe(false);
        expect(verifyInclusion({ ...claim, index: size })).toBe(false);
        expect(verifyInclusion({ ...claim, size: 4 * size })).toBe(false);
        expect(verifyInclusion({ ...claim, index: index + 0.5 })).toBe(false);
      }),
    );
  });

  it("is not made for a leaf that the tree has not", () => {
    expect(() => inclusionProof(3, 3, HASHES)).toThrow(RangeError);
    expect(() => inclusionProof(-1, 3, HASHES)).toThrow(RangeError);
  });
});

describe("a proof of consistency", () => {
  it("shows that every tree up to 300 leaves continues from every smaller one", async () => {
    const refused: [number, number][] = [];
    for (const newSize of sizes)
      for (let oldSize = 0; oldSize <= newSize; oldSize++)
        if (!verifyConsistency(await consistencyOf(oldSize, newSize))) refused.push([oldSize, newSize]);
    expect(refused).toEqual([]);
  });

  it("shows nothing once it, or one of the trees, was changed", async () => {
    await fc.assert(
      fc.asyncProperty(places, async ([index, newSize]) => {
        const claim = await consistencyOf(Math.max(1, index), newSize);
        for (const proof of mutationsOf(claim.proof))
          expect(verifyConsistency({ ...claim, proof })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: [] })).toBe(false);
        expect(verifyConsistency({ ...claim, newSize: 4 * newSize })).toBe(false);
        expect(verifyConsistency({ ...claim, oldRoot: LEAVES[5]! })).toBe(false);
        expect(verifyConsistency({ ...claim, newRoot: LEAVES[5]! })).toBe(false);
        expect(verifyConsistency({ ...claim, oldSize: newSize, newSize: claim.oldSize })).toBe(false);
      }),
    );
  });

  it("does not join trees that differ in a leaf that is old", async () => {
    const forked = LEAVES.with(2, LEAVES[9]!);
    const proof = await consistencyProof(5, 12, naiveHashes(forked));
    const newRoot = naiveRoot(forked.slice(0, 12));
    expect(verifyConsistency({ oldSize: 5, oldRoot: ROOTS[5]!, newSize: 12, newRoot, proof })).toBe(false);
  });

  it("takes trees of one size for one only when their roots are the same", () => {
    const same = { oldSize: 8, oldRoot: ROOTS[8]!, newSize: 8, proof: [] };
    expect(verifyConsistency({ ...same, newRoot: ROOTS[8]! })).toBe(true);
    expect(verifyConsistency({ ...same, newRoot: ROOTS[7]! })).toBe(false);
  });

  it("is not made from a larger tree to a smaller one", () => {
    expect(() => consistencyProof(4, 3, HASHES)).toThrow(RangeError);
  });
});
