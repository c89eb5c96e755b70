import { hash } from "node:crypto";

/* §5 of packages/archive/FORMAT.md, and what RFC 6962 says of trees, for the independent verifier. */

/** 5.1 */
export function hashLeaf(data: Uint8Array): Buffer {
  return hash("sha256", Buffer.concat([Buffer.of(0), data]), "buffer");
}

/** 5.1: J and S. */
export function toLeafData(header: Buffer, sealed: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  return Buffer.concat([length, header, sealed]);
}

/** RFC 6962 §2.1, as published. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return hash("sha256", "", "buffer");
  if (leaves.length === 1) return leaves[0]!;
  const k = leftPart(leaves.length);
  return hashNode(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

/** RFC 6962 §2.1.1, read backwards: the root that an audit path leads to. @param path from the leaf upwards */
export function rootByPath(leaf: Buffer, index: number, size: number, path: readonly Buffer[]): Buffer {
  if (size === 1 && path.length === 0) return leaf;
  const sibling = path.at(-1);
  if (!sibling || size <= 1) throw new Error("12.4: a path of another length");
  const [rest, k] = [path.slice(0, -1), leftPart(size)];
  return index < k
    ? hashNode(rootByPath(leaf, index, k, rest), sibling)
    : hashNode(sibling, rootByPath(leaf, index - k, size - k, rest));
}

function hashNode(left: Buffer, right: Buffer): Buffer {
  return hash("sha256", Buffer.concat([Buffer.of(1), left, right]), "buffer");
}

/** The largest power of two below `count`. */
function leftPart(count: number): number {
  let k = 1;
  while (k * 2 < count) k *= 2;
  return k;
}
