import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { EMPTY_ROOT, HASH_BYTES, hashNode } from "./hash.ts";

/** A tile has up to 256 neighbouring hashes of one level, and its root is one hash of the level eight above. */
export const TILE_HEIGHT = 8;
export const TILE_WIDTH = 256;

/** A full tile: 256 hashes, concatenated. */
export interface Tile {
  /** Level of tiles: 0 holds leaves, 1 the roots of the tiles of 0. */
  readonly level: number;
  readonly index: number;
  readonly bytes: Uint8Array;
}

const treeSchema = z.strictObject({ size: z.int().min(0), edge: z.array(z.string()) });

/**
 * An append-only Merkle tree (RFC 6962) of which only the right edge is in memory: the tiles that are not full yet, one per level. It
 * is all that appending and the root need. Full tiles are handed out once.
 */
export class MerkleTree {
  #size = 0;
  /** The tile of each level that is not full: fewer than 256 hashes each. */
  #edge: Uint8Array[][] = [];
  #full: Tile[] = [];

  /** Number of leaves. */
  get size(): number {
    return this.#size;
  }

  append(leafHash: Uint8Array): void {
    this.#size++;
    this.#push(0, leafHash);
  }

  root(): Uint8Array {
    let root: Uint8Array | undefined;
    // Each level's hashes that fill no tile are left of the hashes of all levels below.
    for (const hashes of this.#edge) root = foldRight(hashes, root);
    return root ?? EMPTY_ROOT;
  }

  /** Tiles that have become full since the last call. */
  takeFullTiles(): Tile[] {
    return this.#full.splice(0);
  }

  /** A hash of the edge; undefined when it lies in a full tile, or beyond the tree. */
  edgeHash(level: number, index: number): Uint8Array | undefined {
    const first = Math.floor(this.#size / TILE_WIDTH ** (level + 1)) * TILE_WIDTH;
    return this.#edge[level]?.[index - first];
  }

  toJSON(): { size: number; edge: string[] } {
    return { size: this.#size, edge: this.#edge.map((hashes) => Buffer.concat(hashes).toString("base64")) };
  }

  /** @throws RepriseError `archive_corrupt` for what no `toJSON` has given */
  static of(json: unknown): MerkleTree {
    const parsed = treeSchema.safeParse(json);
    const tree = new MerkleTree();
    if (!parsed.success) throw corrupt();
    tree.#size = parsed.data.size;
    tree.#edge = parsed.data.edge.map((text) => splitTile(Buffer.from(text, "base64")));
    const isWhole = tree.#edge.every(
      (hashes, level) => hashes.length === Math.floor(tree.#size / TILE_WIDTH ** level) % TILE_WIDTH,
    );
    if (!isWhole || tree.#size >= TILE_WIDTH ** tree.#edge.length) throw corrupt();
    return tree;
  }

  /** Copies the hash: small buffers are parts of a pool of 64 KiB, which a part that is kept keeps alive. */
  #push(level: number, hash: Uint8Array): void {
    const hashes = (this.#edge[level] ??= []);
    hashes.push(Uint8Array.from(hash));
    if (hashes.length < TILE_WIDTH) return;
    const index = this.#size / TILE_WIDTH ** (level + 1) - 1;
    this.#full.push({ level, index, bytes: Buffer.concat(hashes) });
    this.#edge[level] = [];
    this.#push(level + 1, rootOfFull(hashes));
  }
}

/** The root of the hashes of one level with, right of them, what is smaller. */
function foldRight(hashes: readonly Uint8Array[], right: Uint8Array | undefined): Uint8Array | undefined {
  let root = right;
  // The perfect subtrees of a run, from the right: the lowest bits of its length first.
  for (let end = hashes.length, width = 1; end > 0; width *= 2) {
    if ((end & width) === 0) continue;
    const left = rootOfFull(hashes.slice(end - width, end));
    root = root ? hashNode(left, root) : left;
    end -= width;
  }
  return root;
}

/** @param hashes as many as a power of two */
export function rootOfFull(hashes: readonly Uint8Array[]): Uint8Array {
  let level = hashes;
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    // A level has an even number of hashes until it has one.
    for (let i = 0; i < level.length; i += 2) above.push(hashNode(level[i]!, level[i + 1]!));
    level = above;
  }
  // One hash is left.
  return level[0]!;
}

/** The hashes of a tile, or of a part of one. */
export function splitTile(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length % HASH_BYTES !== 0) throw corrupt();
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, i) =>
    Uint8Array.from(bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)),
  );
}

function corrupt(): RepriseError {
  return new RepriseError("archive_corrupt", "A tree's edge is malformed.");
}
