import { HASH_BYTES, hashNode } from "./hash.ts";

/*
 * The verifying half, as RFC 9162 §2.1.3.2 and §2.1.4.2 put it: from the leaf upwards, where the proofs are made from the root downwards.
 * The two share nothing but the hash of a node, so that a mistake in one shows in the other. Sizes may be above 2 ** 31: no bit operators.
 */

export interface InclusionClaim {
  /** The leaf's hash. */
  readonly leaf: Uint8Array;
  readonly index: number;
  /** Number of leaves of the tree. */
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** True if the tree has this leaf at this place. */
export function verifyInclusion({ leaf, index, size, root, proof }: InclusionClaim): boolean {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size))
    return false;
  if (!areHashes([leaf, ...proof])) return false;
  let [place, last] = [index, size - 1];
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (isOdd(place) || place === last) {
      hash = hashNode(sibling, hash);
      while (!isOdd(place) && place !== 0) [place, last] = [half(place), half(last)];
    } else {
      hash = hashNode(hash, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && equal(hash, root);
}

export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly newSize: number;
  readonly newRoot: Uint8Array;
  readonly proof: readonly Uint8Array[];
}

/** True if the newer tree begins with the leaves of the older one. Every tree begins with those of the empty one. */
export function verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof }: ConsistencyClaim): boolean {
  if (!(Number.isSafeInteger(oldSize) && Number.isSafeInteger(newSize) && oldSize >= 0 && oldSize <= newSize))
    return false;
  if (!areHashes([oldRoot, newRoot, ...proof])) return false;
  if (oldSize === 0) return proof.length === 0;
  if (oldSize === newSize) return proof.length === 0 && equal(oldRoot, newRoot);
  const [first, ...rest] = isPowerOfTwo(oldSize) ? [oldRoot, ...proof] : proof;
  if (!first || proof.length === 0) return false;
  let [place, last] = [oldSize - 1, newSize - 1];
  while (isOdd(place)) [place, last] = [half(place), half(last)];
  let [older, newer] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(place) || place === last) {
      older = hashNode(sibling, older);
      newer = hashNode(sibling, newer);
      while (!isOdd(place) && place !== 0) [place, last] = [half(place), half(last)];
    } else {
      newer = hashNode(newer, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && equal(older, oldRoot) && equal(newer, newRoot);
}

/** Proofs come from strangers: what is no hash would shift what the others are taken for. */
function areHashes(all: readonly Uint8Array[]): boolean {
  return all.every(({ length }) => length === HASH_BYTES);
}

function isOdd(value: number): boolean {
  return value % 2 === 1;
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function isPowerOfTwo(value: number): boolean {
  let rest = value;
  while (!isOdd(rest)) rest = half(rest);
  return rest === 1;
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
