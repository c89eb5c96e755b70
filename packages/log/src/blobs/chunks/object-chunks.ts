import { isTenantId, isUploadId, STREAM_START } from "@reprise/protocol";
import type { ChunkPlace, ChunkStore, UploadRef } from "./chunk-store.ts";

/** What chunks need of a store of objects; the archive's stores have it. */
export interface ObjectStore {
  get(key: string): Promise<Uint8Array | undefined>;
  /** Creates an object that must not be there; the very same bytes count as `created`. */
  create(key: string, bytes: Uint8Array): Promise<"created" | "exists">;
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly bytes: number }>;
  delete(key: string): Promise<void>;
}

/** One request each: a store of objects answers in tens of milliseconds, whatever their size. */
const CHUNK_BYTES = 512 * 1_024;
const ROOT = "blobs/";
const NUMBER_CHARS = 8;

/** Chunks as objects: `blobs/<tenant>/<upload>/<number>`, each created once. One without bytes is the seal: nothing comes behind it. */
export function createObjectChunks(store: ObjectStore): ChunkStore {
  return {
    chunkBytes: CHUNK_BYTES,
    async place(ref) {
      let place: ChunkPlace = { chunks: 0, bytes: 0, last: STREAM_START };
      for await (const { key, bytes } of store.list(folderOf(ref))) {
        if (key !== keyOf(ref, place.chunks)) break;
        if (bytes === 0) return { ...place, isSealed: true };
        place = { ...place, chunks: place.chunks + 1, bytes: place.bytes + bytes };
      }
      return place;
    },
    async append(ref, place, bytes) {
      // The store may keep what it was given.
      if ((await store.create(keyOf(ref, place.chunks), Uint8Array.from(bytes))) === "exists")
        return undefined;
      return { ...place, chunks: place.chunks + 1, bytes: place.bytes + bytes.length };
    },
    async seal(ref, place) {
      const made = await store.create(keyOf(ref, place.chunks), new Uint8Array());
      return made === "exists" ? undefined : { ...place, isSealed: true };
    },
    async *read(ref) {
      for (let chunk = 0; ; chunk++) {
        const bytes = await store.get(keyOf(ref, chunk));
        if (!bytes || bytes.length === 0) return;
        yield bytes;
      }
    },
    async remove(ref) {
      const keys: string[] = [];
      for await (const { key } of store.list(folderOf(ref))) keys.push(key);
      // The last first: what is left of an interrupted removal has its beginning, and is found again.
      for (const key of keys.toReversed()) await store.delete(key);
    },
    async *list() {
      let last: string | undefined;
      for await (const { key } of store.list(ROOT)) {
        const [, tenant, upload] = key.split("/");
        if (upload === last || !isTenantId(tenant) || !isUploadId(upload)) continue;
        last = upload;
        yield { tenant, upload };
      }
    },
  };
}

function folderOf({ tenant, upload }: UploadRef): string {
  return `${ROOT}${tenant}/${upload}/`;
}

function keyOf(ref: UploadRef, chunk: number): string {
  return `${folderOf(ref)}${`${chunk}`.padStart(NUMBER_CHARS, "0")}`;
}
