import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { ensurePostgres } from "./ensure-postgres.ts";

afterEach(() => vi.unstubAllEnvs());

async function install(dir: string, version: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const name of ["postgres", "initdb"])
    await writeFile(join(dir, name), `#!/bin/sh\necho '${name} (PostgreSQL) ${version} (Debian)'\n`, {
      mode: 0o755,
    });
}

test("passes over a PostgreSQL on PATH that is too old for the newest that Debian's packages have installed", async () => {
  await using dir = await createTempDir("postgres-found");
  const onPath = join(dir.path, "path");
  await install(onPath, "13.16");
  for (const major of ["9", "15", "17"])
    await install(join(dir.path, "root/usr/lib/postgresql", major, "bin"), `${major}.1`);
  vi.stubEnv("PATH", onPath);
  expect(await ensurePostgres(dir.path, join(dir.path, "root"))).toEqual({
    dir: join(dir.path, "root/usr/lib/postgresql/17/bin"),
    env: {},
  });
});

test("says what to install where there is none that is new enough, and no apt to fetch one with", async () => {
  await using dir = await createTempDir("postgres-found");
  vi.stubEnv("PATH", join(dir.path, "path"));
  await expect(ensurePostgres(dir.path, join(dir.path, "root"))).rejects.toThrow(
    /need PostgreSQL 15 or newer\. It can't be fetched: .*\nInstall its server.* Here: ./,
  );
});

test("finds the newest that Homebrew has installed, which it links into no folder on PATH", async () => {
  await using dir = await createTempDir("postgres-found");
  for (const major of ["9", "16", "17"])
    await install(join(dir.path, `root/opt/homebrew/opt/postgresql@${major}/bin`), `${major}.2`);
  vi.stubEnv("PATH", join(dir.path, "path"));
  expect(await ensurePostgres(dir.path, join(dir.path, "root"))).toEqual({
    dir: join(dir.path, "root/opt/homebrew/opt/postgresql@17/bin"),
    env: {},
  });
});
