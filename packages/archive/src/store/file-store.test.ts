import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { describeBlobStore } from "../testing/blob-store-conformance.ts";
import { createFileStore } from "./file-store.ts";
import { probeStore } from "./s3-store.ts";

describeBlobStore("a folder", async () => {
  const dir = await createTempDir("file-store");
  return {
    open: () => createFileStore(join(dir.path, "deep", "archive")),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
});

test("a folder creates exclusively, and a probe leaves nothing there", async () => {
  await using dir = await createTempDir("file-store");
  const store = createFileStore(dir.path);
  expect(await probeStore(store)).toBe("conditional");
  expect(await Array.fromAsync(store.list(""))).toEqual([]);
});

test("what a process left behind that died while it wrote is neither listed nor kept for longer than a day", async () => {
  await using dir = await createTempDir("file-store");
  const temporary = join(dir.path, ".tmp");
  await mkdir(temporary);
  for (const name of ["old", "new"]) await writeFile(join(temporary, name), "half");
  const dayAgo = Date.now() / 1_000 - 86_401;
  await utimes(join(temporary, "old"), dayAgo, dayAgo);
  const store = createFileStore(dir.path);
  await store.put("k", Buffer.from("whole"));
  expect(await readdir(temporary)).toEqual(["new"]);
  expect(await Array.fromAsync(store.list(""))).toEqual([{ key: "k", bytes: 5 }]);
});

test("no temporary file stays, whether a write succeeds or not", async () => {
  await using dir = await createTempDir("file-store");
  const store = createFileStore(dir.path);
  await store.put("folder/k", Buffer.from("x"));
  await store.create("folder/k", Buffer.from("y"));
  await expect(store.put("folder", Buffer.from("x"))).rejects.toMatchObject({ code: "archive_unavailable" });
  await expect(store.put("folder/k/l", Buffer.from("x"))).rejects.toMatchObject({
    code: "archive_unavailable",
  });
  expect(await readdir(join(dir.path, ".tmp"))).toEqual([]);
});

test("a folder that was taken away is made again at the second try", async () => {
  await using dir = await createTempDir("file-store");
  const store = createFileStore(dir.path);
  await store.put("a/b", Buffer.from("x"));
  await rm(join(dir.path, "a"), { recursive: true });
  await expect(store.put("a/b", Buffer.from("x"))).rejects.toMatchObject({ code: "archive_unavailable" });
  await store.put("a/b", Buffer.from("y"));
  expect(await store.get("a/b")).toEqual(Buffer.from("y"));
});

test("names that no key can have are not listed", async () => {
  await using dir = await createTempDir("file-store");
  const store = createFileStore(dir.path);
  await store.put("k", Buffer.from("x"));
  await writeFile(join(dir.path, "k (copy)"), "x");
  expect((await Array.fromAsync(store.list(""))).map(({ key }) => key)).toEqual(["k"]);
});
