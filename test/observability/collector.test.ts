import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const components = z.record(z.string(), z.unknown());
const names = z.array(z.string());
const collectorSchema = z.object({
  receivers: components,
  processors: components,
  exporters: components,
  service: z.object({
    pipelines: z.record(z.string(), z.object({ receivers: names, processors: names, exporters: names })),
  }),
});
const scraping = z.object({
  scrape_configs: z.array(
    z.object({ job_name: z.string(), static_configs: z.array(z.object({ targets: names })) }),
  ),
});

const read = (path: string): unknown =>
  parse(readFileSync(join(import.meta.dirname, "../../infra", path), "utf8"));

describe.each(["observability/collector.yml", "containers/collector.yml"])("%s", (path) => {
  const collector = collectorSchema.parse(read(path));
  const pipelines = Object.values(collector.service.pipelines);

  test("has pipelines of the components that it defines, and uses each of them", () => {
    for (const kind of ["receivers", "processors", "exporters"] as const) {
      const used = new Set(pipelines.flatMap((pipeline) => pipeline[kind]));
      expect([...used].toSorted()).toEqual(Object.keys(collector[kind]).toSorted());
    }
  });

  test("limits memory first and batches last", () => {
    for (const { processors } of pipelines)
      expect([processors.at(0), processors.at(-1)]).toEqual(["memory_limiter", "batch"]);
  });
});

test("the collector scrapes the same targets as Prometheus", () => {
  const { receivers } = collectorSchema.parse(read("observability/collector.yml"));
  const { config } = z.object({ config: z.unknown() }).parse(receivers["prometheus"]);
  expect(scraping.parse(config)).toEqual(scraping.parse(read("observability/prometheus.yml")));
});
