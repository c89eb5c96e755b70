import { randomBytes } from "node:crypto";
import { BLOB_LIMITS, createUploadId, STREAM_START } from "@reprise/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openWorld, type World } from "@reprise/stream/testing";
import { contentOf, NEW, piecesOf, storageOf, store, TENANT } from "./blobs.fixture.ts";
import type { BlobStorage } from "./blob-storage.ts";
import { findBlob } from "./read-blob.ts";
import { removeBlob } from "./remove-blob.ts";
import { sweepBlobs } from "./sweep-blobs.ts";
import { beginUpload, receiveContent } from "./uploads.ts";
import { useBlob } from "./use-blob.ts";

let world: World;
let storage: BlobStorage;

beforeEach(async () => {
  world = await openWorld();
  storage = storageOf(world);
});
afterEach(() => world[Symbol.asyncDispose]());

const HOUR_MS = 3_600_000;
const chunksOf = () => Array.fromAsync(storage.chunks.list(), ({ upload }) => upload);
const sweepIn = (ms: number) => sweepBlobs(storage, { nowMs: Date.now() + ms });

describe("a sweep", () => {
  test("takes blobs and uploads whose time is over, with their bytes and their share of the quota", async () => {
    const short = await store(storage, randomBytes(200_000), { ttlSeconds: 60 });
    const long = await store(storage, randomBytes(200_000), { ttlSeconds: 86_400 });
    const begun = await beginUpload(storage, TENANT, NEW);
    await receiveContent(storage, begun, piecesOf(randomBytes(300_000), 50_000));

    expect(await sweepIn(60_000)).toMatchObject({ blobs: 0, uploads: 0, orphans: 0 });
    expect(await sweepIn(2 * HOUR_MS - 60_000)).toMatchObject({ blobs: 1, uploads: 0, orphans: 0 });
    await expect(findBlob(storage, TENANT, short.blob.id)).rejects.toMatchObject({ code: "blob_not_found" });
    const { uploadSeconds } = BLOB_LIMITS;
    expect(await sweepIn(uploadSeconds * 1_000 + HOUR_MS)).toMatchObject({
      blobs: 0,
      uploads: 3,
      orphans: 0,
    });
    expect(await chunksOf()).toEqual([long.blob.chunks]);
    const found = await findBlob(storage, TENANT, long.blob.id);
    expect((await contentOf(storage, found)).length).toBe(200_000);
    expect(await storage.accounts.bytesOf(TENANT)).toBe(200_000);
    const rows = await Array.fromAsync(storage.rows.list(), ({ row }) => row.kind);
    expect(rows.toSorted()).toEqual(["account", "blob", "key", "sweep"]);
  });

  test("is made by one of many, and not again before its time", async () => {
    const swept = await Promise.all(Array.from({ length: 8 }, () => sweepBlobs(storage)));
    expect(swept.filter((one) => one !== undefined)).toHaveLength(1);
    expect(await sweepBlobs(storage)).toBeUndefined();
  });

  test("continues with removals that were interrupted, and finds chunks that nothing names", async () => {
    const { blob } = await store(storage, randomBytes(200_000));
    const died = new Error("died here");
    const chunks = { ...storage.chunks, remove: () => Promise.reject(died) };
    await expect(removeBlob({ ...storage, chunks }, TENANT, blob.id)).rejects.toBe(died);
    await expect(findBlob(storage, TENANT, blob.id)).rejects.toMatchObject({ code: "blob_not_found" });
    const upload = createUploadId(randomBytes(17));
    const place = { chunks: 0, bytes: 0, last: STREAM_START };
    await storage.chunks.append({ tenant: TENANT, upload }, place, randomBytes(100));
    expect(await chunksOf()).toHaveLength(2);
    expect(await sweepIn(0)).toMatchObject({ orphans: 1 });
    expect(await chunksOf()).toEqual([]);
  });

  test("leaves what is being uploaded", async () => {
    const upload = await beginUpload(storage, TENANT, NEW);
    const content = randomBytes(900_000);
    let sweeps = 0;
    const source = async function* () {
      for await (const piece of piecesOf(content, 150_000)) {
        yield piece;
        const swept = await sweepBlobs(storage, { everyMs: 0 });
        expect(swept).toMatchObject({ uploads: 0, orphans: 0 });
        sweeps++;
      }
    };
    const { bytes } = await receiveContent(storage, upload, source());
    expect(bytes).toBe(content.length);
    expect(sweeps).toBe(6);
  });
});

test("content that is uploaded again while its blob is being removed is there", async () => {
  const content = randomBytes(200_000);
  const { blob } = await store(storage, content);
  const interrupted = {
    ...storage,
    chunks: { ...storage.chunks, remove: () => Promise.reject(new Error()) },
  };
  await expect(removeBlob(interrupted, TENANT, blob.id)).rejects.toThrow();
  const again = await store(storage, content);
  expect(again).toMatchObject({ isNew: true, blob: { id: blob.id } });
  expect((await contentOf(storage, { tenant: TENANT, row: again.blob })).equals(content)).toBe(true);
});

test("a use renews a blob's time, and keeps it for as long as the use may last", async () => {
  const { blob } = await store(storage, randomBytes(100), { ttlSeconds: 1_000 });
  const nowMs = Date.parse(blob.created_at);
  const unchanged = await useBlob(storage, TENANT, blob.id, { nowMs: nowMs + 100_000 });
  expect(unchanged.row.expires_at).toBe(blob.expires_at);
  const renewed = await useBlob(storage, TENANT, blob.id, { nowMs: nowMs + 900_000 });
  expect(Date.parse(renewed.row.expires_at)).toBe(nowMs + 1_900_000);
  const longer = await useBlob(storage, TENANT, blob.id, { nowMs: nowMs + 900_000, forMs: 7_000_000 });
  expect(Date.parse(longer.row.expires_at)).toBe(nowMs + 7_900_000);
  const late = useBlob(storage, TENANT, blob.id, { nowMs: nowMs + 7_900_000 });
  await expect(late).rejects.toMatchObject({ code: "blob_not_found" });
});
