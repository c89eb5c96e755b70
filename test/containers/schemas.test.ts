import { cp, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { prepare } from "../../infra/containers/prepare.ts";
import { promtool } from "../observability/testing/promtool.ts";
import { mountsOf, readComposeFile, ROOT } from "./testing/compose-file.ts";
import { composeErrors } from "./testing/compose-schema.ts";

const project = readComposeFile();

describe("docker-compose.yml", () => {
  test("has the fields of the Compose Specification", async () => {
    expect(await composeErrors(project)).toEqual([]);
  });

  test("with a field that there is not, and one of the wrong type, is refused", async () => {
    const nginx = { ...project.services["nginx"], stop_grace: "30s", cap_drop: "ALL" };
    expect(await composeErrors({ ...project, services: { ...project.services, nginx } })).toEqual([
      '/services/nginx must NOT have additional properties {"additionalProperty":"stop_grace"}',
      expect.stringContaining("/services/nginx/cap_drop must be array"),
    ]);
  });
});

describe("Prometheus' configuration, with the files that its container has", () => {
  /** Copies what the service mounts below `/etc/prometheus` into a folder: files of the repository, and what the set-up makes. */
  async function mounted() {
    await using volumes = await createTempDir("volumes");
    await prepare(volumes.path, join(ROOT, "infra/proxies/nginx"));
    const dir = await createTempDir("prometheus");
    const below = "/etc/prometheus/";
    for (const { source, target } of mountsOf(project.services["prometheus"]!)) {
      const from = join(source.startsWith("./") ? ROOT : volumes.path, source);
      if (target.startsWith(below))
        await cp(from, join(dir.path, target.slice(below.length)), { recursive: true });
    }
    return dir;
  }

  test("is one that promtool finds nothing wrong with, and it finds both files of rules", async () => {
    await using dir = await mounted();
    const { code, output } = await promtool(["check", "config", join(dir.path, "prometheus.yml")]);
    expect([code, output]).toEqual([0, expect.stringContaining("SUCCESS: 2 rule files found")]);
  });

  test("with a field that there is not is refused", async () => {
    await using dir = await mounted();
    const path = join(dir.path, "prometheus.yml");
    await writeFile(path, readFileSync(path, "utf8").replace("scrape_interval", "scrape_intervall"));
    expect(await promtool(["check", "config", path])).toEqual({
      code: 1,
      output: expect.stringContaining("field scrape_intervall not found"),
    });
  });
});
