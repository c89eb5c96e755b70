import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { ensureKustomize } from "./ensure-kustomize.ts";

afterEach(() => vi.unstubAllEnvs());

async function install(dir: string, name: string, code: number): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, name), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 });
}

test("takes kubectl's where there is no kustomize on PATH", async () => {
  await using dir = await createTempDir("kustomize");
  const onPath = join(dir.path, "path");
  await install(onPath, "kubectl", 0);
  await install(join(dir.path, "bin"), "kustomize", 0);
  vi.stubEnv("PATH", onPath);
  expect(await ensureKustomize(dir.path)).toEqual(["kubectl", "kustomize"]);
});

test("passes over one that does not run for the one in the data folder", async () => {
  await using dir = await createTempDir("kustomize");
  const onPath = join(dir.path, "path");
  await install(onPath, "kustomize", 1);
  await install(join(dir.path, "bin"), "kustomize", 0);
  vi.stubEnv("PATH", onPath);
  expect(await ensureKustomize(dir.path)).toEqual([join(dir.path, "bin", "kustomize"), "build"]);
});

test("says what to install where there is none, and no apt to fetch one with", async () => {
  await using dir = await createTempDir("kustomize");
  await mkdir(join(dir.path, "path"));
  vi.stubEnv("PATH", join(dir.path, "path"));
  await expect(ensureKustomize(dir.path)).rejects.toThrow(
    /need kustomize\. It can't be fetched: .*\nInstall kubectl or kustomize/,
  );
});
