import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { keepSecret, writePrivateFile } from "./private-file.ts";

test("a private file is replaced as a whole, can be read by its owner only, and leaves nothing beside it, after a crash too", async () => {
  await using dir = await createTempDir("private-file");
  const path = join(dir.path, "key");
  await writeFile(`${path}.draft`, "half of a", { mode: 0o644 });
  for (const text of ["first", "second"]) {
    await writePrivateFile(path, text);
    expect(await readFile(path, "utf8")).toBe(text);
  }
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dir.path)).toEqual(["key"]);
});

test("a secret is made once and kept", async () => {
  await using dir = await createTempDir("private-file");
  const path = join(dir.path, "secret");
  expect(await keepSecret(path, () => "one")).toBe("one");
  expect(await keepSecret(path, () => "other")).toBe("one");
});

test("a secret that can't be read is an error, and is not replaced", async () => {
  await using dir = await createTempDir("private-file");
  await expect(keepSecret(dir.path, () => "new")).rejects.toThrow("EISDIR");
});
