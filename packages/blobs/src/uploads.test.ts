import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callAway, openWorld, openWorldBehindProxy, type World } from "@reprise/stream/testing";
import { contentOf, NEW, piecesOf, storageOf, store, TENANT } from "./blobs.fixture.ts";
import { type BlobStorage, createBlobStorage } from "./blob-storage.ts";
import { finishUpload } from "./finish-upload.ts";
import type { Publish } from "@reprise/broker";
import { findBlob, readBlob } from "./read-blob.ts";
import { removeBlob } from "./remove-blob.ts";
import { abandonUpload, beginUpload, receiveContent } from "./uploads.ts";

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

test("any content in any pieces is the blob that was sent", async () => {
  const lengths = fc.integer({ min: 1, max: 500_000 });
  await fc.assert(
    fc.asyncProperty(lengths, fc.integer({ min: 10_000, max: 400_000 }), async (length, size) => {
      const content = randomBytes(length);
      const upload = await beginUpload(storage, TENANT, NEW);
      const { blob } = await finishUpload(
        storage,
        upload,
        await receiveContent(storage, upload, piecesOf(content, size)),
      );
      const found = await findBlob(storage, TENANT, blob.id);
      expect(found.row.bytes).toBe(length);
      expect((await contentOf(storage, found)).equals(content)).toBe(true);
    }),
    { numRuns: 15 },
  );
});

test("the same content by many at once is one blob, counted once", async () => {
  const before = await storage.accounts.bytesOf(TENANT);
  const content = randomBytes(300_000);
  const stored = await Promise.all(Array.from({ length: 8 }, () => store(storage, content)));
  expect(new Set(stored.map(({ blob }) => blob.id)).size).toBe(1);
  expect(stored.filter(({ isNew }) => isNew)).toHaveLength(1);
  const found = await findBlob(storage, TENANT, stored[0]!.blob.id);
  expect((await contentOf(storage, found)).equals(content)).toBe(true);
  expect((await storage.accounts.bytesOf(TENANT)) - before).toBe(content.length);
  const kept = await Array.fromAsync(storage.chunks.list(), ({ upload }) => upload);
  expect(stored.filter(({ upload }) => kept.includes(upload.row.id))).toHaveLength(1);
});

test("content that is not what was stored is given to no reader as a whole", async () => {
  const content = randomBytes(300_000);
  const { blob } = await store(storage, content);
  const chunks = { ...storage.chunks, read: () => piecesOf(randomBytes(300_000), 100_000) };
  const pieces: Uint8Array[] = [];
  const reading = async () => {
    for await (const piece of readBlob({ chunks }, { tenant: TENANT, row: blob })) pieces.push(piece);
  };
  await expect(reading()).rejects.toMatchObject({ code: "internal" });
  expect(pieces).toHaveLength(2);
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

test("the broker is lost in mid-upload: the client waits, and the upload is whole", async () => {
  await using proxied = await openWorldBehindProxy();
  const to = storageOf(proxied, { budgetMs: 60_000 });
  const content = randomBytes(900_000);
  const upload = await beginUpload(to, TENANT, NEW);
  let lost = 0;
  const source = async function* () {
    for await (const piece of piecesOf(content, 100_000)) {
      yield piece;
      if (++lost === 3 || lost === 6) proxied.proxy.cutNow();
    }
  };
  const sum = await receiveContent(to, upload, source());
  const { blob } = await finishUpload(to, upload, sum);
  expect((await contentOf(to, { tenant: TENANT, row: blob })).equals(content)).toBe(true);
  proxied.errors.length = 0;
});

test("the broker is away as an upload begins, brings content, ends, is read and is removed: each waits for it", async () => {
  await using proxied = await openWorldBehindProxy();
  const to = storageOf(proxied, { budgetMs: 60_000 });
  const away = <T>(call: () => Promise<T>) => callAway(proxied, call);
  const content = randomBytes(300_000);
  const upload = await away(() => beginUpload(to, TENANT, NEW));
  const sum = await away(() => receiveContent(to, upload, piecesOf(content, 50_000)));
  const { blob } = await away(() => finishUpload(to, upload, sum));
  const found = await away(() => findBlob(to, TENANT, blob.id));
  expect((await away(() => contentOf(to, found))).equals(content)).toBe(true);
  await away(() => removeBlob(to, TENANT, blob.id));
  expect(await away(() => Array.fromAsync(to.chunks.list()))).toEqual([]);
  expect(await away(() => to.accounts.bytesOf(TENANT))).toBe(0);
  proxied.errors.length = 0;
});

test("a reader from whom the broker is cut off in mid-blob has the rest after it, once", async () => {
  await using proxied = await openWorldBehindProxy();
  const to = storageOf(proxied, { budgetMs: 60_000 });
  const content = randomBytes(1_000_000);
  const { blob } = await store(to, content);
  const pieces: Uint8Array[] = [];
  for await (const piece of readBlob(to, { tenant: TENANT, row: blob })) {
    pieces.push(Uint8Array.from(piece));
    if (pieces.length === 3) proxied.proxy.cutNow();
  }
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
  proxied.errors.length = 0;
});

test("how long a call continues is asked as it begins", async () => {
  let budgetMs = 600_000;
  const { broker, log } = world;
  let publish: Publish = log.publish;
  const access = { broker, publish: (...call: Parameters<Publish>) => publish(...call) };
  const to = createBlobStorage({ ...access, budgetMs: () => budgetMs });
  const upload = await beginUpload(to, TENANT, NEW);
  publish = async () => ({ kind: "unavailable", reason: "disconnected" });
  budgetMs = 0;
  const failed = receiveContent(to, upload, piecesOf(randomBytes(1_000), 1_000));
  await expect(failed).rejects.toMatchObject({ code: "broker_unavailable" });
});

test("a broker that stays away ends the request with what can be tried again", async () => {
  const isRetryable = (error: unknown) => error instanceof RepriseError && error.retryable;
  const publish = async () => ({ kind: "unavailable", reason: "timeout" }) as const;
  const away = storageOf({ ...world, log: { ...world.log, publish } }, { budgetMs: 300 });
  const upload = await beginUpload(storage, TENANT, NEW);
  const failed = receiveContent(away, upload, piecesOf(randomBytes(400_000), 100_000));
  await expect(failed).rejects.toSatisfy(isRetryable);
});
