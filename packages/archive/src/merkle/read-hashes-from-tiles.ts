import { RepriseError } from "@reprise/protocol";
import { tileKey } from "../store/paths.ts";
import { LruCache } from "../store/lru-cache.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { HASH_BYTES } from "./hash.ts";
import type { HashReader } from "./hash-reader.ts";
import { MerkleTree, rootOfFull, splitTile, TILE_HEIGHT, TILE_WIDTH, type Tile } from "./merkle-tree.ts";

export interface TileSource {
  store: Pick<BlobStore, "get">;
  /** Name of the tree. */
  name: string;
  /** Must not grow while it is read from. */
  tree: MerkleTree;
  /** The leaves from the first on: what all tiles follow from. Asked for when a tile is missing, which is allowed. */
  leaves: () => AsyncIterable<Uint8Array>;
}

/** A tile takes 8 KiB. A proof needs two of each level at most. */
const KEPT_TILES = 64;

/** Reads hashes of a tree from its full tiles, and those of the right edge from memory. */
export function readHashesFromTiles({ store, name, tree, leaves }: TileSource): HashReader {
  const tiles = new LruCache<Promise<Uint8Array[]>>(KEPT_TILES);
  let rebuilt: Promise<Map<string, Uint8Array>> | undefined;

  const readTile = async (level: number, index: number): Promise<Uint8Array[]> => {
    const key = tileKey(name, level, index);
    let bytes = await store.get(key);
    if (!bytes) {
      rebuilt ??= rebuildTiles(name, tree.size, leaves());
      bytes = (await rebuilt).get(key);
    }
    if (bytes?.length !== TILE_WIDTH * HASH_BYTES)
      throw new RepriseError("archive_corrupt", `${key} is no tile.`);
    return splitTile(bytes);
  };
  const tileOf = (level: number, index: number): Promise<Uint8Array[]> => {
    const key = `${level}/${index}`;
    const known = tiles.get(key);
    if (known) return known;
    const read = readTile(level, index);
    tiles.set(key, read);
    read.catch(() => tiles.delete(key));
    return read;
  };
  /** @param level of tiles, which are eight levels high */
  const hashAt = async (level: number, index: number): Promise<Uint8Array> => {
    const edge = tree.edgeHash(level, index);
    if (edge) return edge;
    const hash = (await tileOf(level, Math.floor(index / TILE_WIDTH)))[index % TILE_WIDTH];
    // A tile that was read has TILE_WIDTH hashes: `readTile` checks its length.
    return hash!;
  };

  return async (level, index) => {
    if ((index + 1) * 2 ** level > tree.size)
      throw new RangeError(`A tree of ${tree.size} leaves has no subtree ${index} of level ${level}.`);
    const tileLevel = Math.floor(level / TILE_HEIGHT);
    const width = 2 ** (level % TILE_HEIGHT);
    const hashes = await Promise.all(
      Array.from({ length: width }, (_, i) => hashAt(tileLevel, index * width + i)),
    );
    return rootOfFull(hashes);
  };
}

/** @throws RepriseError `archive_corrupt` when there are fewer leaves than the tree has */
async function rebuildTiles(
  name: string,
  size: number,
  leaves: AsyncIterable<Uint8Array>,
): Promise<Map<string, Uint8Array>> {
  const tree = new MerkleTree();
  const tiles: Tile[] = [];
  for await (const leaf of leaves) {
    if (tree.size === size) break;
    tree.append(leaf);
    tiles.push(...tree.takeFullTiles());
  }
  if (tree.size < size)
    throw new RepriseError(
      "archive_corrupt",
      `The tree ${name} has ${size} leaves, and commits have ${tree.size}.`,
    );
  return new Map(tiles.map(({ level, index, bytes }) => [tileKey(name, level, index), bytes]));
}
