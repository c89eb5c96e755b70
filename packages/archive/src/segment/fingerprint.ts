import { hash } from "node:crypto";

const BYTES = 4;
/** Three fingerprints are sixteen characters of base64: any such group can be read alone. */
const GROUP = 3;
const GROUP_CHARACTERS = 16;

/** 32 bits that tell most generations apart. */
export function fingerprintOf(generation: string): number {
  return hash("sha256", generation, "buffer").readUInt32BE();
}

/** `fingerprintOf` each generation, once, ascending, four bytes each, the most significant first, in base64. */
export function encodeFingerprints(generations: Iterable<string>): string {
  const fingerprints = Uint32Array.from(new Set(Array.from(generations, fingerprintOf))).toSorted();
  const bytes = Buffer.alloc(fingerprints.length * BYTES);
  for (const [i, fingerprint] of fingerprints.entries()) bytes.writeUInt32BE(fingerprint, i * BYTES);
  return bytes.toString("base64");
}

/** Decodes the result of `encodeFingerprints`, to compare files. */
export function decodeFingerprints(text: string): Uint32Array {
  const bytes = Buffer.from(text, "base64");
  return Uint32Array.from({ length: Math.floor(bytes.length / BYTES) }, (_, i) =>
    bytes.readUInt32BE(i * BYTES),
  );
}

/** False: the generation is not in the file. True: it most probably is. */
export function mayHold(file: { readonly generations: string }, generation: string): boolean {
  return holdsFingerprint(file, fingerprintOf(generation));
}

/** The same, for questions to many files about one generation. Reads as few groups as a binary search needs: nothing is decoded beforehand. */
export function holdsFingerprint(
  { generations }: { readonly generations: string },
  fingerprint: number,
): boolean {
  let low = 0;
  let high = Math.ceil(generations.length / GROUP_CHARACTERS) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const from = middle * GROUP_CHARACTERS;
    const group = Buffer.from(generations.slice(from, from + GROUP_CHARACTERS), "base64");
    const [first, last] = [group.readUInt32BE(0), group.readUInt32BE(group.length - BYTES)];
    if (fingerprint < first) high = middle - 1;
    else if (fingerprint > last) low = middle + 1;
    else return holdsInGroup(group, fingerprint);
  }
  return false;
}

function holdsInGroup(group: Buffer, fingerprint: number): boolean {
  for (let at = 0; at < GROUP; at++)
    if ((at + 1) * BYTES <= group.length && group.readUInt32BE(at * BYTES) === fingerprint) return true;
  return false;
}
