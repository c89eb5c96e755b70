import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAway } from "../testing/call-away.ts";
import { openWorld, openWorldBehindProxy, type World } from "../testing/world.ts";
import { contentOf, createMemoryObjects, NEW, piecesOf, storageOf, store, TENANT } from "./blobs.fixture.ts";
import { type BlobStorage, createBlobStorage } from "./blob-storage.ts";
import { finishUpload } from "./finish-upload.ts";
import type { Publish } from "../nats/publisher.ts";
import { findBlob, readBlob } from "./read-blob.ts";
import { removeBlob } from "./remove-blob.ts";
import { placeOf } from "./upload-place.ts";
import { abandonUpload, beginUpload, findUpload, type OpenUpload, receiveContent, refOf } from "./uploads.ts";

let world: World;
let storage: BlobStorage;

beforeAll(async () => {
  world = await openWorld();
  storage = storageOf(world);
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world[Symbol.asyncDispose]();
});

class Cut extends Error {}

/** Sends so many bytes, and breaks off. */
async function* cutOff(content: Uint8Array, bytes: number): AsyncGenerator<Uint8Array> {
  yield* piecesOf(content.subarray(0, bytes), 20_000);
  throw new Cut();
}

/** A client that asks where its upload stands after each break, and sends the rest from there. */
async function resume(to: BlobStorage, upload: OpenUpload, content: Uint8Array, cuts: readonly number[]) {
  for (const bytes of cuts) {
    const place = await to.chunks.place(refOf(upload));
    const rest = content.subarray(place.bytes);
    await receiveContent(to, upload, place, cutOff(rest, Math.min(bytes, rest.length))).catch(
      (error: unknown) => {
        if (!(error instanceof Cut)) throw error;
      },
    );
  }
  const place = await to.chunks.place(refOf(upload));
  return receiveContent(to, upload, place, piecesOf(content.subarray(place.bytes), 20_000));
}

describe.each(["the broker", "a store of objects"])("an upload into %s", (where) => {
  const open = () =>
    where === "the broker" ? storage : storageOf(world, { objects: createMemoryObjects() });

  test("that is cut off anywhere, and resumed, is the blob that was sent", async () => {
    const to = open();
    const cut = fc.integer({ min: 0, max: 400_000 });
    const lengths = fc.integer({ min: 1, max: 1_000_000 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.array(cut, { maxLength: 6 }), async (length, cuts) => {
        const content = randomBytes(length);
        const upload = await beginUpload(to, TENANT, NEW);
        const { sum } = await resume(to, upload, content, cuts);
        const { blob } = await finishUpload(to, upload, sum);
        const found = await findBlob(to, TENANT, blob.id);
        expect(found.row.bytes).toBe(length);
        expect((await contentOf(to, found)).equals(content)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test("of the same content by many at once is one blob, counted once", async () => {
    const to = open();
    const before = await to.accounts.bytesOf(TENANT);
    const content = randomBytes(300_000);
    const stored = await Promise.all(Array.from({ length: 8 }, () => store(to, content)));
    expect(new Set(stored.map(({ blob }) => blob.id)).size).toBe(1);
    expect(stored.filter(({ isNew }) => isNew)).toHaveLength(1);
    const found = await findBlob(to, TENANT, stored[0]!.blob.id);
    expect((await contentOf(to, found)).equals(content)).toBe(true);
    expect((await to.accounts.bytesOf(TENANT)) - before).toBe(content.length);
    const kept = await Array.fromAsync(to.chunks.list(), ({ upload }) => upload);
    expect(stored.filter(({ upload }) => kept.includes(upload.row.id))).toHaveLength(1);
  });

  test("by two requests at once takes the pieces of one, whole", async () => {
    const to = open();
    const upload = await beginUpload(to, TENANT, NEW);
    const place = await to.chunks.place(refOf(upload));
    const both = [randomBytes(600_000), randomBytes(600_000)];
    const results = await Promise.allSettled(
      both.map((content) => receiveContent(to, upload, place, piecesOf(content, 30_000))),
    );
    const won = results.findIndex(({ status }) => status === "fulfilled");
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(results[1 - won]).toMatchObject({ reason: { code: "upload_conflict" } });
    const { blob } = await finishUpload(to, upload, { bytes: 600_000 });
    expect((await contentOf(to, { tenant: TENANT, row: blob })).equals(both[won]!)).toBe(true);
  });
});

test("an upload that is finished twice is finished once", async () => {
  const before = await storage.accounts.bytesOf(TENANT);
  const { upload, blob } = await store(storage, randomBytes(200_000));
  const again = await finishUpload(storage, await findUpload(storage, TENANT, upload.row.id), {
    bytes: 200_000,
  });
  expect(again.blob.id).toBe(blob.id);
  expect((await storage.accounts.bytesOf(TENANT)) - before).toBe(200_000);
  await abandonUpload(storage, TENANT, upload.row.id);
  expect((await contentOf(storage, { tenant: TENANT, row: blob })).length).toBe(200_000);
});

test("what is reserved for uploads at once never exceeds the quota, and comes back", async () => {
  const before = await storage.accounts.bytesOf(TENANT);
  const quotaBytes = before + 1_000_000;
  const begin = () => beginUpload(storage, TENANT, { ...NEW, length: 300_000, quotaBytes });
  const begun = await Promise.allSettled(Array.from({ length: 8 }, begin));
  const open = begun.filter((one) => one.status === "fulfilled").map(({ value }) => value);
  expect(open).toHaveLength(3);
  for (const one of begun.filter(({ status }) => status === "rejected"))
    expect(one).toMatchObject({ reason: { code: "limit_exceeded" } });
  await Promise.all(open.map(({ row }) => abandonUpload(storage, TENANT, row.id)));
  expect(await storage.accounts.bytesOf(TENANT)).toBe(before);
});

test("an upload that is shorter than it has said is no blob", async () => {
  const upload = await beginUpload(storage, TENANT, { ...NEW, length: 1_000 });
  const place = await storage.chunks.place(refOf(upload));
  const { sum } = await receiveContent(storage, upload, place, piecesOf(randomBytes(999), 100));
  await expect(finishUpload(storage, upload, sum)).rejects.toMatchObject({ param: "Upload-Length" });
});

test("the broker is lost in mid-upload: the client waits, and the upload is whole", async () => {
  await using behind = await openWorldBehindProxy();
  const to = storageOf(behind, { budgetMs: 60_000 });
  const content = randomBytes(900_000);
  const upload = await beginUpload(to, TENANT, NEW);
  const place = await to.chunks.place(refOf(upload));
  let lost = 0;
  const source = async function* () {
    for await (const piece of piecesOf(content, 100_000)) {
      yield piece;
      if (++lost === 3 || lost === 6) behind.proxy.cutNow();
    }
  };
  const { sum } = await receiveContent(to, upload, place, source());
  const { blob } = await finishUpload(to, upload, sum);
  expect((await contentOf(to, { tenant: TENANT, row: blob })).equals(content)).toBe(true);
  behind.errors.length = 0;
});

test("the broker is away as an upload begins, is found, ends, is read and is removed: each waits for it", async () => {
  await using behind = await openWorldBehindProxy();
  const to = storageOf(behind, { budgetMs: 60_000 });
  const away = <T>(call: () => Promise<T>) => callAway(behind, call);
  const content = randomBytes(300_000);
  const { row } = await away(() => beginUpload(to, TENANT, NEW));
  const upload = await away(() => findUpload(to, TENANT, row.id));
  const { place } = await away(() => placeOf(to, upload));
  const first = content.subarray(0, 200_000);
  const half = await away(() => receiveContent(to, upload, place, piecesOf(first, 50_000)));
  const rest = piecesOf(content.subarray(first.length), 50_000);
  // What came with an earlier request is read again to be summed.
  const { sum } = await receiveContent(to, upload, half.place, rest);
  const { blob } = await away(() => finishUpload(to, upload, sum));
  const found = await away(() => findBlob(to, TENANT, blob.id));
  expect((await away(() => contentOf(to, found))).equals(content)).toBe(true);
  await away(() => removeBlob(to, TENANT, blob.id));
  expect(await away(() => Array.fromAsync(to.chunks.list()))).toEqual([]);
  expect(await away(() => to.accounts.bytesOf(TENANT))).toBe(0);
  behind.errors.length = 0;
});

test("a reader from whom the broker is cut off in mid-blob has the rest behind it, once", async () => {
  await using behind = await openWorldBehindProxy();
  const to = storageOf(behind, { budgetMs: 60_000 });
  const content = randomBytes(1_000_000);
  const { blob } = await store(to, content);
  const pieces: Uint8Array[] = [];
  for await (const piece of readBlob(to, { tenant: TENANT, row: blob })) {
    pieces.push(Uint8Array.from(piece));
    if (pieces.length === 3) behind.proxy.cutNow();
  }
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
  behind.errors.length = 0;
});

test("how long a call goes on is asked as it begins", async () => {
  let budgetMs = 600_000;
  const { broker, log } = world;
  let publish: Publish = log.publish;
  const access = { broker, publish: (...call: Parameters<Publish>) => publish(...call) };
  const to = createBlobStorage({ ...access, budgetMs: () => budgetMs });
  const upload = await beginUpload(to, TENANT, NEW);
  publish = async () => ({ kind: "unavailable", reason: "disconnected" });
  budgetMs = 0;
  const place = await to.chunks.place(refOf(upload));
  const failed = receiveContent(to, upload, place, piecesOf(randomBytes(1_000), 1_000));
  await expect(failed).rejects.toMatchObject({ code: "broker_unavailable" });
});

test("a broker that stays away ends the request with what can be tried again", async () => {
  const isRetryable = (error: unknown) => error instanceof RepriseError && error.retryable;
  const publish = async () => ({ kind: "unavailable", reason: "timeout" }) as const;
  const away = storageOf({ ...world, log: { ...world.log, publish } }, { budgetMs: 300 });
  const upload = await beginUpload(storage, TENANT, NEW);
  const place = await storage.chunks.place(refOf(upload));
  const failed = receiveContent(away, upload, place, piecesOf(randomBytes(400_000), 100_000));
  await expect(failed).rejects.toSatisfy(isRetryable);
  const { sum } = await resume(storage, upload, randomBytes(400_000), []);
  expect((await finishUpload(storage, upload, sum)).blob.bytes).toBe(400_000);
});
