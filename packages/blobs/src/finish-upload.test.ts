import { randomBytes } from "node:crypto";
import { type BlobId, BLOB_LIMITS, blobSubject, type UploadRecord, uploadSubject } from "@reprise/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openWorld, type World } from "@reprise/stream/testing";
import { contentOf, NEW, piecesOf, storageOf, store, TENANT } from "./blobs.fixture.ts";
import type { BlobStorage } from "./blob-storage.ts";
import { finishUpload } from "./finish-upload.ts";
import { findBlob } from "./read-blob.ts";
import { removeBlob } from "./remove-blob.ts";
import { sweepBlobs } from "./sweep-blobs.ts";
import { abandonUpload, beginUpload, type OpenUpload, receiveContent } from "./uploads.ts";

let world: World;
let storage: BlobStorage;

beforeEach(async () => {
  world = await openWorld();
  storage = storageOf(world);
});
afterEach(() => world[Symbol.asyncDispose]());

const NOT_FOUND = { code: "blob_not_found" };
const charged = () => storage.accounts.bytesOf(TENANT);
const chunksOf = (to: BlobStorage) => Array.fromAsync(to.chunks.list(), ({ upload }) => upload);
const sweepLater = () =>
  sweepBlobs(storage, { nowMs: Date.now() + BLOB_LIMITS.uploadSeconds * 1_000 + 120_000 });

const append = (to: BlobStorage, upload: OpenUpload, content: Uint8Array) =>
  receiveContent(to, upload, piecesOf(content, 50_000));

/** A storage whose process dies, or does something first, at a step of a finish. */
function before(
  step: "the blob's row" | "settling",
  then: () => Promise<unknown>,
  on: BlobStorage = storage,
): BlobStorage {
  const kind = step === "settling" ? "upload" : "blob";
  const rows = Object.create(storage.rows) as BlobStorage["rows"];
  rows.read = (subject) => storage.rows.read(subject);
  rows.remove = (subject, at) => storage.rows.remove(subject, at);
  rows.write = async (subject, row, at) => {
    if (row.kind === kind && !(row.kind === "upload" && row.reserved > 0)) await then();
    return on.rows.write(subject, row, at);
  };
  return { ...storage, rows };
}
/** A storage whose removal of an upload stops once it has looked for its blob, and again before the chunks go. */
function slowRemoval() {
  const looked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const removed = Promise.withResolvers<void>();
  const purge = Promise.withResolvers<void>();
  const rows = Object.create(storage.rows) as BlobStorage["rows"];
  const chunks = Object.create(storage.chunks) as BlobStorage["chunks"];
  rows.write = (...args) => storage.rows.write(...args);
  rows.remove = (...args) => storage.rows.remove(...args);
  rows.read = async (subject) => {
    const placed = await storage.rows.read(subject);
    if (subject.startsWith(blobSubject(TENANT, "" as BlobId))) {
      looked.resolve();
      await goOn.promise;
    }
    return placed;
  };
  chunks.remove = async (ref) => {
    removed.resolve();
    await purge.promise;
    return storage.chunks.remove(ref);
  };
  return { storage: { ...storage, rows, chunks }, looked, goOn, removed, purge };
}
const die = () => Promise.reject(new Error("died here"));

test("an upload that was removed is no blob, and no bytes of it are left", async () => {
  const upload = await beginUpload(storage, TENANT, NEW);
  const source = async function* () {
    for await (const piece of piecesOf(randomBytes(900_000), 200_000)) {
      yield piece;
      await abandonUpload(storage, TENANT, upload.row.id);
    }
  };
  await expect(receiveContent(storage, upload, source())).rejects.toMatchObject(NOT_FOUND);
  expect([await charged(), await chunksOf(storage)]).toEqual([0, []]);
  const { sha256, head } = { sha256: "0".repeat(64), head: randomBytes(10) };
  const finished = finishUpload(storage, upload, { bytes: 900_000, sha256, head });
  await expect(finished).rejects.toMatchObject(NOT_FOUND);
});

describe("what is charged is what is stored", () => {
  const content = randomBytes(10_000);
  /** A finish whose process died before it had settled. */
  const dieUnsettled = async () => {
    const upload = await beginUpload(storage, TENANT, NEW);
    const sum = await append(storage, upload, content);
    await expect(finishUpload(before("settling", die), upload, sum)).rejects.toThrow("died here");
    const { row } = await storage.rows.read((await blobOf(upload)).subject);
    expect(row).toMatchObject({ kind: "blob", chunks: upload.row.id });
    return upload;
  };
  const blobOf = async (upload: OpenUpload) => {
    const { row } = await storage.rows.read(uploadSubject(TENANT, upload.row.id));
    const id = (row as UploadRecord).blob!;
    return { id, subject: blobSubject(TENANT, id) };
  };

  test("where an upload is given up between its blob and its account", async () => {
    const upload = await dieUnsettled();
    const { id } = await blobOf(upload);
    await abandonUpload(storage, TENANT, upload.row.id);
    expect(await charged()).toBe(content.length);
    await removeBlob(storage, TENANT, id);
    expect(await charged()).toBe(0);
  });

  test("where the blob is deleted before the account has it", async () => {
    const upload = await dieUnsettled();
    await removeBlob(storage, TENANT, (await blobOf(upload)).id);
    expect(await charged()).toBe(0);
    await sweepLater();
    expect([await charged(), await chunksOf(storage)]).toEqual([0, []]);
  });

  test("where an upload is given up while another request settles it", async () => {
    const upload = await beginUpload(storage, TENANT, NEW);
    const sum = await append(storage, upload, content);
    const finishing = before("settling", () => abandonUpload(storage, TENANT, upload.row.id));
    const { blob } = await finishUpload(finishing, upload, sum);
    expect(await charged()).toBe(content.length);
    await expect(findBlob(storage, TENANT, blob.id)).resolves.toBeDefined();
  });

  test("where an upload is given up before its blob is there: there is none", async () => {
    const upload = await beginUpload(storage, TENANT, NEW);
    const sum = await append(storage, upload, content);
    const finishing = before("the blob's row", () => abandonUpload(storage, TENANT, upload.row.id));
    await expect(finishUpload(finishing, upload, sum)).rejects.toMatchObject(NOT_FOUND);
    expect([await charged(), await chunksOf(storage)]).toEqual([0, []]);
    expect(await Array.fromAsync(storage.rows.list(), ({ row }) => row.kind)).not.toContain("blob");
  });

  test.each([
    ["and its chunks are gone", false, async () => {}],
    ["and its chunks are about to go", true, async () => {}],
    [
      "and another request deletes the blob",
      true,
      async () => {
        for await (const { row } of storage.rows.list())
          if (row.kind === "blob") await removeBlob(storage, TENANT, row.id);
      },
    ],
  ])(
    "where an upload is given up that had no blob yet when that was looked for, %s: there is none",
    async (_, stops, meanwhile) => {
      const upload = await beginUpload(storage, TENANT, NEW);
      const sum = await append(storage, upload, content);
      const slow = slowRemoval();
      let removing = Promise.resolve();
      const looks = before("the blob's row", () => {
        removing = abandonUpload(slow.storage, TENANT, upload.row.id);
        return slow.looked.promise;
      });
      if (!stops) slow.purge.resolve();
      const finishing = before(
        "settling",
        async () => {
          slow.goOn.resolve();
          await (stops ? slow.removed.promise : removing);
          await meanwhile();
        },
        looks,
      );
      await expect(finishUpload(finishing, upload, sum)).rejects.toMatchObject(NOT_FOUND);
      slow.purge.resolve();
      await removing;
      expect([await charged(), await chunksOf(storage)]).toEqual([0, []]);
      expect(await Array.fromAsync(storage.rows.list(), ({ row }) => row.kind)).not.toContain("blob");
    },
  );

  test("where what is given back comes before what it was charged", async () => {
    await storage.accounts.add(TENANT, -5_000);
    await storage.accounts.add(TENANT, 5_000);
    expect(await charged()).toBe(0);
  });
});

test("content whose blob has lost its bytes is there again when it is uploaded again", async () => {
  const content = randomBytes(300_000);
  const { blob } = await store(storage, content);
  await storage.chunks.remove({ tenant: TENANT, upload: blob.chunks });
  const again = await store(storage, content);
  expect(again).toMatchObject({ isNew: true, blob: { id: blob.id } });
  expect((await contentOf(storage, { tenant: TENANT, row: again.blob })).equals(content)).toBe(true);
  expect(await charged()).toBe(content.length);
});
