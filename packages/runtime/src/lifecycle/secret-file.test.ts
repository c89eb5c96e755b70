import type * as fs from "node:fs/promises";
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { beforeEach, expect, test, vi } from "vitest";
import { createSecretFile, openSecretFile, replaceSecretFile } from "./secret-file.ts";

/* Durability after a power loss follows from the order of the file-system calls, so each is written down once it is done. */

const recorded = vi.hoisted(() => ({ calls: [] as [name: string, ...paths: string[]][] }));

vi.mock("node:fs/promises", async (importOriginal) => {
  const actual = await importOriginal<typeof fs>();
  const { calls } = recorded;
  const after =
    (name: string, call: (from: string, to: string) => Promise<void>) =>
    async (from: string, to: string): Promise<void> => {
      await call(from, to);
      calls.push([name, from, to]);
    };
  return {
    ...actual,
    rename: after("rename", actual.rename),
    link: after("link", actual.link),
    writeFile: async (path: string, data: string, options: { flush?: boolean } = {}) => {
      await actual.writeFile(path, data, options);
      calls.push([options.flush ? "write and sync" : "write", path]);
    },
    open: async (path: string, flags: string) => {
      const handle = await actual.open(path, flags);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        calls.push(["sync", path]);
      };
      return handle;
    },
  };
});

beforeEach(() => void (recorded.calls.length = 0));

const DRAFT = /\.[0-9a-f]{8}-[0-9a-f-]{27}$/;
const INVALID = { code: "config_invalid" };

function callsIn(dir: string): string[] {
  const name = (path: string) => (relative(dir, path) || ".").replace(DRAFT, ".<draft>");
  return recorded.calls.map(([call, ...paths]) => [call, ...paths.map(name)].join(" "));
}

test("a file is synced before it gets its name, and its folder and new folders after that", async () => {
  await using dir = await createTempDir("secret");
  await createSecretFile(join(dir.path, "a/b.key"), "one");
  expect(callsIn(dir.path)).toEqual([
    "sync .",
    "write and sync a/b.key.<draft>",
    "link a/b.key.<draft> a/b.key",
    "sync a",
  ]);
  recorded.calls.length = 0;
  await replaceSecretFile(join(dir.path, "a/b.key"), "two");
  expect(callsIn(dir.path)).toEqual([
    "write and sync a/b.key.<draft>",
    "rename a/b.key.<draft> a/b.key",
    "sync a",
  ]);
});

test("a file that is made or replaced is its owner's alone, whatever was there, and no draft stays", async () => {
  await using dir = await createTempDir("secret");
  const path = join(dir.path, "user.nk");
  await writeFile(path, "old", { mode: 0o644 });
  expect(await createSecretFile(path, "never")).toBe(false);
  await replaceSecretFile(path, "new\n");
  expect(await readFile(path, "utf8")).toBe("new\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await openSecretFile(path, () => "never")).toBe("new");
  await mkdir(join(dir.path, "folder.nk"));
  await expect(replaceSecretFile(join(dir.path, "folder.nk"), "x")).rejects.toThrow();
  expect(await readdir(dir.path)).toEqual(["folder.nk", "user.nk"]);
});

test("all who open a missing file at once have the same secret; one that others may read is refused", async () => {
  await using dir = await createTempDir("secret");
  const path = join(dir.path, "keys/user.nk");
  const opened = await Promise.all(Array.from({ length: 8 }, (_, i) => openSecretFile(path, () => `${i}`)));
  expect(new Set(opened).size).toBe(1);
  await chmod(path, 0o640);
  await expect(openSecretFile(path, () => "x")).rejects.toMatchObject({ ...INVALID, param: path });
});

test("an empty file is no secret", async () => {
  await using dir = await createTempDir("secret");
  const path = join(dir.path, "user.nk");
  await writeFile(path, "\n", { mode: 0o600 });
  await expect(openSecretFile(path, () => "x")).rejects.toMatchObject({ ...INVALID, param: path });
});

const DIED = "user.nk.0b8c8a2e-7a3a-4a51-9f3e-0d6f2f3a9b11";
test.each([
  ["opens it", (path: string) => openSecretFile(path, () => "secret")],
  ["makes it", (path: string) => createSecretFile(path, "secret")],
  ["replaces it", (path: string) => replaceSecretFile(path, "secret")],
])(
  "the draft of a process that died while it wrote a file goes with the next that %s; others stay",
  async (_, use) => {
    await using dir = await createTempDir("secret");
    const path = join(dir.path, "user.nk");
    const living = DIED.replace("0b8c", "1111");
    for (const name of [DIED, living, "user.nk.pub", `other-${DIED}`])
      await writeFile(join(dir.path, name), "half");
    await utimes(join(dir.path, DIED), 0, 0);
    await utimes(join(dir.path, "user.nk.pub"), 0, 0);
    await writeFile(path, "secret", { mode: 0o600 });
    await use(path);
    expect((await readdir(dir.path)).toSorted()).toEqual(
      [`other-${DIED}`, "user.nk", living, "user.nk.pub"].toSorted(),
    );
  },
);
