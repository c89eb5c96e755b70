import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BlobStore } from "../store/blob-store.ts";

export interface StoreTarget extends AsyncDisposable {
  /** An empty place, opened once per process that a test plays. */
  open(): BlobStore;
}

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();
const bytesOf = (value: string) => Buffer.from(value);

async function keysOf(store: BlobStore, prefix: string): Promise<string[]> {
  return (await Array.fromAsync(store.list(prefix))).map(({ key }) => key);
}

/** Describes the behaviour of every store of an archive. @param start makes a place of its own for one test */
export function describeBlobStore(name: string, start: () => Promise<StoreTarget>): void {
  describe(name, () => {
    test("gives back what was put, the newest of it, and nothing after it was deleted", async () => {
      await using target = await start();
      const store = target.open();
      expect(await store.get("a/b=1/c.x")).toBeUndefined();
      await store.put("a/b=1/c.x", bytesOf("one"));
      await store.put("a/b=1/c.x", bytesOf("another"));
      expect(text(await target.open().get("a/b=1/c.x"))).toBe("another");
      await store.put("empty", new Uint8Array());
      expect(await store.get("empty")).toHaveLength(0);
      await store.delete("a/b=1/c.x");
      await store.delete("a/b=1/c.x");
      expect(await store.get("a/b=1/c.x")).toBeUndefined();
    });

    test("has no objects where other keys continue, and lets delete them", async () => {
      await using target = await start();
      const store = target.open();
      await store.put("a/b/c", bytesOf("x"));
      for (const key of ["a", "a/b", "a/b/c/d"]) {
        expect(await store.get(key)).toBeUndefined();
        await store.delete(key);
      }
      expect(await keysOf(store, "")).toEqual(["a/b/c"]);
    });

    test("gives parts: what lies in the range, and nothing after the end", async () => {
      await using target = await start();
      const store = target.open();
      const whole = "0123456789";
      await store.put("k", bytesOf(whole));
      const range = fc.record({ offset: fc.nat(14), length: fc.nat(14) });
      await fc.assert(
        fc.asyncProperty(range, async ({ offset, length }) => {
          expect(text(await store.get("k", { offset, length }))).toBe(whole.slice(offset, offset + length));
        }),
        { seed: 5, numRuns: 60 },
      );
      expect(text(await store.get("k", { offset: 8, length: Number.MAX_SAFE_INTEGER - 8 }))).toBe("89");
      expect(await store.get("missing", { offset: 0, length: 0 })).toBeUndefined();
    });

    test("keeps megabytes of any bytes exactly", async () => {
      await using target = await start();
      const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => (i * 7919) >>> 3);
      await target.open().put("large", bytes);
      expect(Buffer.compare((await target.open().get("large"))!, bytes)).toBe(0);
    });

    test("creates once: the same bytes again are created, others exist already", async () => {
      await using target = await start();
      const store = target.open();
      expect(await store.create("log/1", bytesOf("mine"))).toBe("created");
      expect(await store.create("log/1", bytesOf("mine"))).toBe("created");
      expect(await target.open().create("log/1", bytesOf("theirs"))).toBe("exists");
      expect(text(await store.get("log/1"))).toBe("mine");
    });

    test("lets one of many create an object, and the others read the winner's bytes at once", async () => {
      await using target = await start();
      for (let round = 0; round < 10; round++) {
        const tries = Array.from({ length: 8 }, async (_, i) => {
          const store = target.open();
          const outcome = await store.create(`log/${round}`, bytesOf(`writer ${i}`));
          return { i, outcome, read: text(await store.get(`log/${round}`)) };
        });
        const done = await Promise.all(tries);
        const winners = done.filter(({ outcome }) => outcome === "created");
        expect(winners).toHaveLength(1);
        expect(new Set(done.map(({ read }) => read))).toEqual(new Set([`writer ${winners[0]!.i}`]));
      }
    });

    test("never shows a part of an object that is replaced", async () => {
      await using target = await start();
      const store = target.open();
      const versions = ["a", "b"].map((letter) => letter.repeat(200_000));
      await store.put("k", bytesOf(versions[0]!));
      const writing = (async () => {
        for (let i = 0; i < 20; i++) await store.put("k", bytesOf(versions[i % 2]!));
      })();
      const seen: boolean[] = [];
      for (let i = 0; i < 40; i++) seen.push(versions.includes(text(await target.open().get("k"))!));
      await writing;
      expect(seen).not.toContain(false);
    });

    test("lists what begins with a prefix, with sizes, in the order of the keys", async () => {
      await using target = await start();
      const store = target.open();
      const keys = ["a-b", "a.b", "a/a", "a/b-c", "a/b/c", "a/b0", "a0", "aa", "b/c"];
      for (const [i, key] of keys.toReversed().entries()) await store.put(key, new Uint8Array(i));
      expect(await keysOf(store, "")).toEqual(keys.toSorted());
      expect(await Array.fromAsync(store.list("a/"))).toEqual([
        { key: "a/a", bytes: 6 },
        { key: "a/b-c", bytes: 5 },
        { key: "a/b/c", bytes: 4 },
        { key: "a/b0", bytes: 3 },
      ]);
      expect(await keysOf(store, "a/b")).toEqual(["a/b-c", "a/b/c", "a/b0"]);
      expect(await keysOf(store, "a/b/")).toEqual(["a/b/c"]);
      expect(await keysOf(store, "a/a/")).toEqual([]);
      expect(await keysOf(store, "nothing/here")).toEqual([]);
    });

    test("lists more than a page", async () => {
      await using target = await start();
      const store = target.open();
      const keys = Array.from({ length: 27 }, (_, i) => `page/${String(i).padStart(3, "0")}`);
      await Promise.all(keys.map((key) => store.put(key, bytesOf("x"))));
      expect(await keysOf(store, "page/")).toEqual(keys);
    });

    test("refuses keys that lead elsewhere", async () => {
      await using target = await start();
      const store = target.open();
      for (const key of ["", "/a", "a/", "a//b", "..", "a/../../b", "./a", ".tmp/a", "a b", "a%2fb", "é"]) {
        await expect(async () => store.get(key)).rejects.toThrow(TypeError);
        await expect(async () => store.put(key, bytesOf("x"))).rejects.toThrow(TypeError);
        await expect(async () => store.create(key, bytesOf("x"))).rejects.toThrow(TypeError);
        await expect(async () => store.delete(key)).rejects.toThrow(TypeError);
      }
      for (const prefix of ["../", "/", "a//", "a/../b"])
        await expect(keysOf(store, prefix)).rejects.toThrow(TypeError);
    });
  });
}
