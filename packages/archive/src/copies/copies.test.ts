import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { sha256Hex } from "../commit/hashes.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import type { BlobCopy } from "../commit/record.ts";
import { copyOf, createDataKey } from "./copies.fixture.ts";
import { parsePartKey, partKey } from "./copy-keys.ts";
import { openCopy, readCopy } from "./open-copy.ts";
import { COPY_PART_BYTES } from "./seal-copy.ts";

async function contentOf(store: BlobStore, copy: BlobCopy, key = createDataKey()) {
  const pieces: Uint8Array[] = [];
  for await (const piece of openCopy(copy, readCopy(store, copy), key)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const keysOf = async (store: BlobStore) => Array.fromAsync(store.list("blob/"), ({ key }) => key);

test.each([1, 131_072, COPY_PART_BYTES - 1, COPY_PART_BYTES, COPY_PART_BYTES + 1, 2 * COPY_PART_BYTES + 17])(
  "%i bytes are read back as they were, in parts of bounded size, none of which has them",
  async (bytes) => {
    const store = createMemoryStore();
    const key = createDataKey();
    const content = randomBytes(bytes);
    const copy = await copyOf(store, key, content, { piece: 100_003 });
    expect(copy).toMatchObject({ kid: key.kid, parts: 1 + Math.ceil(bytes / COPY_PART_BYTES) });
    expect(await contentOf(store, copy!, key)).toEqual(content);
    const stored = await Array.fromAsync(store.list("blob/"));
    expect(stored.map((one) => parsePartKey(one.key)?.index)).toEqual([...Array(copy!.parts).keys()]);
    expect(Math.max(...stored.map((one) => one.bytes))).toBeLessThanOrEqual(COPY_PART_BYTES + 16);
    expect(stored.reduce((sum, one) => sum + one.bytes, 0)).toBe(copy!.bytes);
    const sealed = Buffer.concat(
      await Promise.all(stored.map(async (one) => (await store.get(one.key)) ?? new Uint8Array())),
    );
    expect(sealed.includes("image/png")).toBe(false);
    expect(bytes > 16 && sealed.includes(content.subarray(0, 16))).toBe(false);
  },
);

test("what a copy is of is told after its last byte", async () => {
  const store = createMemoryStore();
  const key = createDataKey();
  const copy = await copyOf(store, key, Buffer.from("hello"));
  const opened = openCopy(copy!, readCopy(store, copy!), key);
  expect(await opened.next()).toEqual({ done: false, value: Buffer.from("hello") });
  expect(await opened.next()).toMatchObject({ done: true, value: { type: "image/png", bytes: 5 } });
});

test.each([
  ["shorter than its record says", { bytes: 11 }],
  ["longer than its record says", { bytes: 9 }],
  ["another than its record says", { sha256: "0".repeat(64) }],
])("content that is %s leaves no copy, and no part of one", async (_, says) => {
  const store = createMemoryStore();
  expect(await copyOf(store, createDataKey(), Buffer.from("0123456789"), { says })).toBeUndefined();
  expect(await keysOf(store)).toEqual([]);
});

test("the same content is sealed again by each copy", async () => {
  const store = createMemoryStore();
  const key = createDataKey();
  const [one, other] = [
    await copyOf(store, key, Buffer.from("same")),
    await copyOf(store, key, Buffer.from("same")),
  ];
  expect(one?.sha256).not.toBe(other?.sha256);
});

test.each<[string, (store: BlobStore, copy: BlobCopy) => Promise<BlobCopy | void>]>([
  ["a part is changed", async (store, { key }) => change(store, partKey(key, 1))],
  ["what it is of is changed", async (store, { key }) => change(store, partKey(key, 0))],
  ["a part is missing", (store, { key }) => store.delete(partKey(key, 1))],
  ["a part is much larger", (store, { key }) => store.put(partKey(key, 1), randomBytes(5_000_000))],
  ["two parts are exchanged", (store, copy) => exchange(store, copy)],
  // By who may sign commits: the parts themselves tell.
  ["its last part is left out of the record", (store, copy) => signedAnew(store, { ...copy, parts: 2 })],
  [
    "its parts are those of another copy",
    async (store, copy) => {
      const other = await copyOf(store, createDataKey(), randomBytes(COPY_PART_BYTES + 5));
      return { ...copy, key: other!.key, sha256: other!.sha256, bytes: other!.bytes };
    },
  ],
  ["its salt is another", async (_, copy) => ({ ...copy, salt: "0".repeat(32) })],
  ["its record is of another blob", async (_, copy) => ({ ...copy, blob: "blob_other" })],
])("nothing is read to the end where %s", async (_, tamper) => {
  const store = createMemoryStore();
  const key = createDataKey();
  const copy = await copyOf(store, key, randomBytes(COPY_PART_BYTES + 5));
  const changed = (await tamper(store, copy!)) ?? copy!;
  await expect(contentOf(store, changed, key)).rejects.toMatchObject({ code: "archive_corrupt" });
});

test("another key than the one that it was sealed with is told apart", async () => {
  const store = createMemoryStore();
  const copy = await copyOf(store, createDataKey(), Buffer.from("hello"));
  await expect(contentOf(store, copy!, createDataKey())).rejects.toThrow("The key is not the one");
});

async function change(store: BlobStore, key: string): Promise<void> {
  const bytes = Uint8Array.from((await store.get(key)) ?? []);
  bytes[0]! ^= 1;
  await store.put(key, bytes);
}

async function exchange(store: BlobStore, { key }: BlobCopy): Promise<void> {
  const [one, other] = [await store.get(partKey(key, 1)), await store.get(partKey(key, 2))];
  await store.put(partKey(key, 1), other!);
  await store.put(partKey(key, 2), one!);
}

async function signedAnew(store: BlobStore, copy: BlobCopy): Promise<BlobCopy> {
  const parts = await Promise.all([0, 1].map(async (index) => (await store.get(partKey(copy.key, index)))!));
  const all = Buffer.concat(parts);
  return { ...copy, bytes: all.length, sha256: sha256Hex(all) };
}
