import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { findChromium } from "./find-chromium.ts";
import { describeMissing, missingTestPrograms } from "./missing-test-programs.ts";

afterEach(() => vi.unstubAllEnvs());

async function install(dir: string, ...names: string[]): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const name of names) await writeFile(join(dir, name), "#!/bin/sh\n", { mode: 0o755 });
}

test("Chromium is found under the names that systems give it, and where macOS keeps it", async () => {
  await using dir = await createTempDir("chromium");
  const app = join(dir.path, "Chromium");
  expect(findChromium(dir.path, [app])).toBeUndefined();
  await install(dir.path, "Chromium");
  expect(findChromium(dir.path, [app])).toBe(app);
  for (const name of ["chromium-browser", "google-chrome", "google-chrome-stable", "chromium"]) {
    await install(dir.path, name);
    expect(findChromium(`/nowhere:${dir.path}`, [app])).toBe(join(dir.path, name));
  }
});

test("tests miss nothing once programs are on PATH", async () => {
  await using dir = await createTempDir("test-programs");
  vi.stubEnv("PATH", dir.path);
  vi.stubEnv("HOME", dir.path);
  expect(missingTestPrograms("gate")).toEqual(["redis-server"]);
  expect(missingTestPrograms("all")).toContain("redis-server");
  await install(dir.path, "redis-server", "chromium");
  expect(missingTestPrograms("all")).toEqual([]);
});

test("what is missing is said in one line, with what comes of it, and the command in another", () => {
  const ubuntu = { platform: "linux", arch: "x64", ids: ["ubuntu", "debian"], major: 24 } as const;
  expect(describeMissing(["redis-server", "chromium"], ubuntu)).toBe(
    "This machine has no redis-server and no chromium: tests of Redis are left out, tests in a browser are skipped.\n" +
      "To install: sudo apt-get install -y redis-server && npx playwright-core install --with-deps chromium",
  );
  expect(describeMissing(["chromium"], { ...ubuntu, ids: ["arch"] })).toBe(
    "This machine has no chromium: tests in a browser are skipped.\nInstall what is missing, so that it is on PATH.",
  );
  expect(describeMissing([], ubuntu)).toBeUndefined();
});
