import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const DIR = join(import.meta.dirname, "../../infra/observability");
const scrapes = z.array(
  z.object({ job_name: z.string(), static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
);
const components = z.record(z.string(), z.unknown());
const collectorSchema = z.strictObject({
  receivers: components.and(
    z.object({ prometheus: z.object({ config: z.object({ scrape_configs: scrapes }) }) }),
  ),
  processors: components,
  exporters: components,
  service: z.strictObject({
    pipelines: z.record(
      z.string(),
      z.strictObject({
        receivers: z.array(z.string()),
        processors: z.array(z.string()),
        exporters: z.array(z.string()),
      }),
    ),
  }),
});

const read = (name: string): unknown => parse(readFileSync(join(DIR, name), "utf8"));
const collector = collectorSchema.parse(read("collector.yml"));

test("the collector's pipelines are made of components that there are, and each of those but the optional one is used", () => {
  for (const kind of ["receivers", "processors", "exporters"] as const) {
    const used = new Set(Object.values(collector.service.pipelines).flatMap((pipeline) => pipeline[kind]));
    const optional = kind === "processors" ? ["tail_sampling"] : [];
    expect([...used, ...optional].toSorted()).toEqual(Object.keys(collector[kind]).toSorted());
  }
  for (const { processors } of Object.values(collector.service.pipelines))
    expect([processors.at(0), processors.at(-1)]).toEqual(["memory_limiter", "batch"]);
});

test("the collector scrapes what Prometheus does", () => {
  const { scrape_configs: expected } = z.object({ scrape_configs: scrapes }).parse(read("prometheus.yml"));
  expect(scrapes.parse(collector.receivers.prometheus.config.scrape_configs)).toEqual(expected);
});
