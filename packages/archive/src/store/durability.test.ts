import type * as fs from "node:fs/promises";
import { relative } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createFileStore } from "./file-store.ts";

/*
 * Durability after a power loss follows from the order of the file-system calls alone, so that is what is tested here: each call is
 * written down when it has been done, and "resolved" when the store says that all is.
 */

const recorded = vi.hoisted(() => ({ calls: [] as [name: string, ...paths: string[]][] }));

vi.mock("node:fs/promises", async (importOriginal) => {
  const actual = await importOriginal<typeof fs>();
  const { calls } = recorded;
  const after =
    <Args extends unknown[], Result>(name: string, call: (...args: Args) => Promise<Result>, paths: number) =>
    async (...args: Args): Promise<Result> => {
      const result = await call(...args);
      calls.push([name, ...args.slice(0, paths).map(String)]);
      return result;
    };
  return {
    ...actual,
    mkdir: after("mkdir", actual.mkdir as (path: string) => Promise<unknown>, 1),
    rename: after("rename", actual.rename, 2),
    link: after("link", actual.link, 2),
    rm: after("rm", actual.rm, 1),
    open: async (path: string, ...rest: unknown[]) => {
      const handle = await (actual.open as (...args: unknown[]) => Promise<fs.FileHandle>)(path, ...rest);
      const spied = { writeFile: "write", datasync: "sync", sync: "sync" } as const;
      for (const [method, name] of Object.entries(spied)) {
        const original = (handle[method as keyof typeof spied] as (...args: unknown[]) => Promise<void>).bind(
          handle,
        );
        Object.defineProperty(handle, method, {
          value: async (...args: unknown[]) => {
            await original(...args);
            calls.push([name, path]);
          },
        });
      }
      return handle;
    },
  };
});

beforeEach(() => {
  recorded.calls.length = 0;
});

/** A folder, and what has been done in it since the last time: one line for each call, temporary names as `<temporary>`. */
async function openFolder() {
  const dir = await createTempDir("durability");
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const name = (path: string) =>
    (relative(dir.path, path) || ".").replace(/^\.tmp\/[0-9a-f]{24}$/, "<temporary>");
  const done = async (work: Promise<unknown>) => {
    await work;
    const lines = recorded.calls.splice(0).map(([call, ...paths]) => [call, ...paths.map(name)].join(" "));
    return [...lines, "resolved"];
  };
  return { dir: dir.path, store: createFileStore(dir.path), done };
}

/** The lines in which something is made or becomes durable, but not what is cleaned up. */
const inOrder = (lines: readonly string[]) => lines.filter((line) => !line.startsWith("rm <temporary>"));

describe("a folder", () => {
  test("syncs a file before it gets its name, and its folder after that, before it says that it is stored", async () => {
    const { store, done } = await openFolder();
    await done(store.put("data/k", Buffer.from("first")));
    expect(inOrder(await done(store.put("data/k", Buffer.from("second"))))).toEqual([
      "write <temporary>",
      "sync <temporary>",
      "rename <temporary> data/k",
      "sync data",
      "resolved",
    ]);
  });

  test("does the same for a file that must not be there", async () => {
    const { store, done } = await openFolder();
    await done(store.put("data/k", Buffer.from("first")));
    expect(inOrder(await done(store.create("data/l", Buffer.from("x"))))).toEqual([
      "write <temporary>",
      "sync <temporary>",
      "link <temporary> data/l",
      "sync data",
      "resolved",
    ]);
  });

  test("syncs the folder of a file again that an earlier try has left", async () => {
    const { store, done } = await openFolder();
    await done(store.create("data/k", Buffer.from("x")));
    expect((await done(store.create("data/k", Buffer.from("x")))).slice(-2)).toEqual([
      "sync data",
      "resolved",
    ]);
  });

  test("syncs each new folder into the one above it before a file in it is said to be stored", async () => {
    const { store, done } = await openFolder();
    const lines = await done(store.put("a/b/k", Buffer.from("x")));
    const placeOf = (line: string) => lines.indexOf(line);
    for (const [made, synced] of [
      ["mkdir a", "sync ."],
      ["mkdir a/b", "sync a"],
      ["rename <temporary> a/b/k", "sync a/b"],
    ] as const) {
      expect(placeOf(made), made).toBeGreaterThanOrEqual(0);
      expect(lines.lastIndexOf(synced), `${synced} after ${made}`).toBeGreaterThan(placeOf(made));
    }
    expect(placeOf("sync a")).toBeLessThan(placeOf("rename <temporary> a/b/k"));
  });

  test("syncs the folder of a file that was deleted", async () => {
    const { store, done } = await openFolder();
    await done(store.put("data/k", Buffer.from("x")));
    expect(await done(store.delete("data/k"))).toEqual(["rm data/k", "sync data", "resolved"]);
  });
});
