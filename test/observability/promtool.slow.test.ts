import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { prepare } from "../../infra/containers/prepare.ts";
import { mountsOf, readComposeFile, ROOT } from "../containers/testing/compose-file.ts";
import { collectorSchema } from "./testing/collector-schema.ts";
import { drive } from "./testing/drive.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";
import { promtool } from "./testing/promtool.ts";

const CHECK = ["check", "metrics"];

test("promtool finds nothing wrong with any service's metrics, on a platform that has done some work", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  for (const service of platform.services) {
    const result = await promtool(CHECK, await scrape(service));
    expect({ service: service.name, ...result }).toEqual({ service: service.name, code: 0, output: "" });
  }
});

test("promtool refuses a gauge with the name of a counter", async () => {
  const text = "# HELP handles_total Open handles.\n# TYPE handles_total gauge\nhandles_total 3\n";
  expect(await promtool(CHECK, text)).toEqual({
    code: 3,
    output: expect.stringContaining('non-counter metrics should not have "_total" suffix'),
  });
});

/** Checks a configuration, then the same with a field of no such name. */
async function expectChecked(path: string): Promise<void> {
  expect(await promtool(["check", "config", path])).toMatchObject({ code: 0 });
  await writeFile(path, `${await readFile(path, "utf8")}\nscrape_configurations: []\n`);
  expect(await promtool(["check", "config", path])).toEqual({
    code: 1,
    output: expect.stringContaining("field scrape_configurations not found"),
  });
}

test("promtool accepts the configuration of the collector's receiver, and refuses an unknown field", async () => {
  await using dir = await createTempDir("collector");
  const path = join(dir.path, "prometheus.yml");
  const text = await readFile(join(ROOT, "infra/observability/collector.yml"), "utf8");
  const { config } = collectorSchema.parse(parse(text)).receivers["prometheus"] as { config: object };
  await writeFile(path, stringify(config));
  await expectChecked(path);
});

test("promtool accepts the files that Prometheus' container has, and refuses an unknown field", async () => {
  await using volumes = await createTempDir("volumes");
  await using dir = await createTempDir("prometheus");
  await prepare(volumes.path, join(ROOT, "infra/proxies/nginx"));
  const below = "/etc/prometheus/";
  for (const { source, target } of mountsOf(readComposeFile().services["prometheus"]!)) {
    const from = join(source.startsWith("./") ? ROOT : volumes.path, source);
    if (target.startsWith(below))
      await cp(from, join(dir.path, target.slice(below.length)), { recursive: true });
  }
  await expectChecked(join(dir.path, "prometheus.yml"));
});
