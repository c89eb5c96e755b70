import { hashNode } from "./hash.ts";

/**
 * Gives the hash of a perfect subtree: of the leaves from `index * 2 ** level` on, `2 ** level` of them.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export type HashReader = (level: number, index: number) => Promise<Uint8Array>;

/**
 * The root of the leaves from `first` up to, but not including, `end`: the tree's own where `first` is 0.
 * @param first a multiple of the smallest power of two that is not below their number, as it is in every proof
 */
export async function rangeRoot(first: number, end: number, hashes: HashReader): Promise<Uint8Array> {
  const parts: Promise<Uint8Array>[] = [];
  for (let at = first; at < end;) {
    let level = 0;
    while (2 ** (level + 1) <= end - at) level++;
    parts.push(hashes(level, at / 2 ** level));
    at += 2 ** level;
  }
  const known = await Promise.all(parts);
  return known.reduceRight((right, left) => hashNode(left, right));
}
