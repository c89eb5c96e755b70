import { hash } from "node:crypto";
import type { HashReader } from "./hash-reader.ts";

/* RFC 6962 §2.1 to the letter, and slow. Shares no code with what it is compared with. */

export function naiveLeaf(data: Uint8Array): Uint8Array {
  return hash("sha256", Buffer.concat([Uint8Array.of(0), data]), "buffer");
}

/** MTH(D[n]) of leaf hashes. */
export function naiveRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return hash("sha256", "", "buffer");
  if (leaves.length === 1) return leaves[0]!;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  const children = [naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k))];
  return hash("sha256", Buffer.concat([Uint8Array.of(1), ...children]), "buffer");
}

export function naiveHashes(leaves: readonly Uint8Array[]): HashReader {
  const known = new Map<string, Uint8Array>();
  return async (level, index) => {
    const name = `${level}/${index}`;
    const root = known.get(name) ?? naiveRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
    known.set(name, root);
    return root;
  };
}

export function countedLeaves(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => naiveLeaf(Buffer.from(`leaf ${i}`)));
}
