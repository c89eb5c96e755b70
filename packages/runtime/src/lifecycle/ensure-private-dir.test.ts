import { chmod, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { ensurePrivateDir } from "./ensure-private-dir.ts";

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}

test("a private folder is made for its owner alone, and one that is there is closed, unless it is meant for all users", async () => {
  await using dir = await createTempDir("private");
  const made = join(dir.path, "a/b");
  await ensurePrivateDir(made);
  expect(await modeOf(made)).toBe(0o700);
  const open = join(dir.path, "open");
  await mkdir(open);
  await chmod(open, 0o755);
  await ensurePrivateDir(open);
  expect(await modeOf(open)).toBe(0o700);
  const shared = join(dir.path, "shared");
  await mkdir(shared);
  await chmod(shared, 0o1777);
  await expect(ensurePrivateDir(shared)).rejects.toMatchObject({ code: "config_invalid" });
  expect(await modeOf(shared)).toBe(0o1777);
});
