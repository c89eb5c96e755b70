import { chmod, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openMasterKeyFile } from "./master-key-file.ts";

const invalid = { code: "config_invalid" };

test("a key file is made once, for its owner alone, and all who open it at once have the same key", async () => {
  await using dir = await createTempDir("master-key");
  const path = join(dir.path, "keys", "master.key");
  const keys = await Promise.all(Array.from({ length: 8 }, () => openMasterKeyFile(path)));
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
  expect(await openMasterKeyFile(path)).toEqual(keys[0]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(dir.path, "keys"))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(dir.path, "keys"))).toEqual(["master.key"]);
});

test("a key file that others may read or change is refused", async () => {
  await using dir = await createTempDir("master-key");
  const path = join(dir.path, "master.key");
  await openMasterKeyFile(path);
  for (const mode of [0o640, 0o604, 0o620, 0o602]) {
    await chmod(path, mode);
    await expect(openMasterKeyFile(path)).rejects.toMatchObject({ ...invalid, param: path });
  }
});

test("a key file that holds something else, or can't be one, is refused and left as it is", async () => {
  await using dir = await createTempDir("master-key");
  const path = join(dir.path, "master.key");
  await writeFile(path, "not a key\n", { mode: 0o600 });
  await expect(openMasterKeyFile(path)).rejects.toMatchObject(invalid);
  await expect(openMasterKeyFile(join(path, "below", "a.key"))).rejects.toMatchObject(invalid);
});
