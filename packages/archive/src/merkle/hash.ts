import { hash } from "node:crypto";

/** RFC 6962 §2.1: leaves and nodes are hashed apart, so that neither can be passed off as the other. */
const LEAF = 0x00;
const NODE = 0x01;
export const HASH_BYTES = 32;

/** The hash of a leaf. */
export function hashLeaf(data: Uint8Array): Uint8Array {
  const input = Buffer.allocUnsafe(1 + data.length);
  input[0] = LEAF;
  input.set(data, 1);
  return hash("sha256", input, "buffer");
}

/** The hash of a node, from those of its children. */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  const input = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  input[0] = NODE;
  input.set(left, 1);
  input.set(right, 1 + HASH_BYTES);
  return hash("sha256", input, "buffer");
}

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Uint8Array = hash("sha256", "", "buffer");
