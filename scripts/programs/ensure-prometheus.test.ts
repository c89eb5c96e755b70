import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { ensurePrometheus } from "./ensure-prometheus.ts";

afterEach(() => vi.unstubAllEnvs());

async function install(dir: string, versions: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const [name, version] of Object.entries(versions))
    await writeFile(join(dir, name), `#!/bin/sh\necho '${name}, version ${version}+ds (branch: x)'\n`, {
      mode: 0o755,
    });
}

test("passes over a Prometheus on PATH that is too old for a newer one in the data folder", async () => {
  await using dir = await createTempDir("prometheus");
  const onPath = join(dir.path, "path");
  await install(onPath, { prometheus: "2.42.0", promtool: "3.5.3" });
  await install(join(dir.path, "bin"), { prometheus: "3.5.3", promtool: "3.6.0" });
  vi.stubEnv("PATH", onPath);
  expect(await ensurePrometheus(dir.path)).toEqual({
    prometheus: join(dir.path, "bin", "prometheus"),
    promtool: join(onPath, "promtool"),
  });
});

test("says what to install where there is none that is new enough, and no apt to fetch one with", async () => {
  await using dir = await createTempDir("prometheus");
  await install(join(dir.path, "path"), { prometheus: "2.42.0" });
  vi.stubEnv("PATH", join(dir.path, "path"));
  // Where there is no Debian archive, the release is asked for; from an address that `fetch` refuses.
  vi.stubEnv("REPRISE_DOWNLOAD_URL", "http://127.0.0.1:9");
  await expect(ensurePrometheus(dir.path)).rejects.toThrow(
    /need prometheus 3\.0\.0 or newer: .*path\/prometheus is 2\.42\.0\. It can't be fetched: .*\nInstall Prometheus 3 with promtool.* Here: ./,
  );
});
