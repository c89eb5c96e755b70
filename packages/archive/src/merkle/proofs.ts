import { type HashReader, rangeRoot } from "./hash-reader.ts";

/*
 * RFC 9162 §2.1.3.1 and §2.1.4.1. Both walk from the root down to where a subtree is decided, and name the siblings that they pass.
 */

/**
 * Proves that a leaf is in a tree, given the leaf and the root.
 * @param index of the leaf, from 0
 * @param size of the tree; `hashes` may be those of a larger one
 * @throws RangeError when the tree has no such leaf
 */
export function inclusionProof(index: number, size: number, hashes: HashReader): Promise<Uint8Array[]> {
  if (!(index >= 0 && index < size)) throw new RangeError(`A tree of ${size} leaves has no leaf ${index}.`);
  const siblings: Promise<Uint8Array>[] = [];
  let [first, end] = [0, size];
  while (end - first > 1) {
    const middle = first + leftPart(end - first);
    if (index < middle) {
      siblings.push(rangeRoot(middle, end, hashes));
      end = middle;
    } else {
      siblings.push(rangeRoot(first, middle, hashes));
      first = middle;
    }
  }
  return Promise.all(siblings.toReversed());
}

/**
 * Proves that a tree begins with the leaves of an older one, given both roots. Empty where there is nothing to prove: for an
 * older tree without leaves, and for one of the same size.
 * @throws RangeError when the older tree is the larger one
 */
export function consistencyProof(
  oldSize: number,
  newSize: number,
  hashes: HashReader,
): Promise<Uint8Array[]> {
  if (!(oldSize >= 0 && oldSize <= newSize))
    throw new RangeError(`A tree of ${newSize} leaves was never one of ${oldSize}.`);
  if (oldSize === 0) return Promise.resolve([]);
  const siblings: Promise<Uint8Array>[] = [];
  let [first, end] = [0, newSize];
  while (end !== oldSize) {
    const middle = first + leftPart(end - first);
    if (oldSize <= middle) {
      siblings.push(rangeRoot(middle, end, hashes));
      end = middle;
    } else {
      siblings.push(rangeRoot(first, middle, hashes));
      first = middle;
    }
  }
  // A subtree that is all of the older tree is known: its root is the older root.
  if (first > 0) siblings.push(rangeRoot(first, end, hashes));
  return Promise.all(siblings.toReversed());
}

/** The largest power of two below `count`, which is 2 or more. */
function leftPart(count: number): number {
  let part = 1;
  while (2 * part < count) part *= 2;
  return part;
}
