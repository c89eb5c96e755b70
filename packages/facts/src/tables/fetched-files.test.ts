import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { openFetchedFiles } from "./fetched-files.ts";
import type { StoredFile } from "./searchable-files.ts";

const file = (key: string): StoredFile => ({ key, sha256: `sha-of-${key}`, bytes: 10 });

function createStore() {
  const asked: string[] = [];
  const missing = new Set<string>();
  return {
    asked,
    missing,
    async get(key: string) {
      asked.push(key);
      return missing.has(key) ? undefined : Buffer.from(key.padEnd(10));
    },
  };
}
const textsOf = (paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => (await readFile(path, "utf8")).trim()));

describe("files of an object store", () => {
  it("are fetched once, and are there as files while they are searched in", async () => {
    await using dir = await createTempDir();
    const store = createStore();
    const files = await openFetchedFiles({ store, dir: join(dir.path, "files"), maxBytes: 100 });
    expect(await files.use([file("a"), file("b")], textsOf)).toEqual(["a", "b"]);
    expect(await files.use([file("b"), file("a")], textsOf)).toEqual(["b", "a"]);
    expect(store.asked).toEqual(["a", "b"]);
  });

  it("make room for others: first those that were not searched in the longest", async () => {
    await using dir = await createTempDir();
    const store = createStore();
    const files = await openFetchedFiles({ store, dir: dir.path, maxBytes: 20 });
    for (const key of ["a", "b", "a", "c"]) await files.use([file(key)], textsOf);
    expect(await readdir(dir.path)).toHaveLength(2);
    for (const key of ["a", "c", "b"]) await files.use([file(key)], textsOf);
    expect(store.asked).toEqual(["a", "b", "c", "b"]);
  });

  it("stay while they are searched in, however little room there is", async () => {
    await using dir = await createTempDir();
    const files = await openFetchedFiles({ store: createStore(), dir: dir.path, maxBytes: 0 });
    await files.use([file("a"), file("b")], async (paths) => {
      await files.use([file("c")], textsOf);
      expect(paths.every((path) => existsSync(path))).toBe(true);
    });
    expect(await readdir(dir.path)).toEqual([]);
  });

  it("are asked for again when they could not be fetched", async () => {
    await using dir = await createTempDir();
    const store = createStore();
    const files = await openFetchedFiles({ store, dir: dir.path, maxBytes: 20 });
    store.missing.add("a");
    await expect(files.use([file("a")], textsOf)).rejects.toMatchObject({ code: "archive_unavailable" });
    store.missing.clear();
    expect(await files.use([file("a")], textsOf)).toEqual(["a"]);
  });

  it("begin with an empty folder: what an earlier process has left there is removed", async () => {
    await using dir = await createTempDir();
    await writeFile(join(dir.path, "left"), "x");
    await openFetchedFiles({ store: createStore(), dir: dir.path, maxBytes: 20 });
    expect(await readdir(dir.path)).toEqual([]);
  });
});

describe("searches that need more than there is room for", () => {
  it("wait for others, and are refused where it is too much for one", async () => {
    await using dir = await createTempDir();
    const files = await openFetchedFiles({
      store: createStore(),
      dir: dir.path,
      maxBytes: 100,
      maxUsedBytes: 30,
    });
    const running: number[] = [];
    let most = 0;
    const search = (...keys: string[]) =>
      files.use(keys.map(file), async (paths) => {
        running.push(paths.length);
        most = Math.max(
          most,
          running.reduce((all, one) => all + one, 0),
        );
        await readdir(dir.path);
        running.pop();
      });
    await Promise.all([search("a", "b"), search("c", "d"), search("e"), search("f", "g", "h")]);
    expect(most).toBeLessThanOrEqual(3);
    await expect(search("a", "b", "c", "d")).rejects.toMatchObject({ code: "invalid_request" });
  });
});
