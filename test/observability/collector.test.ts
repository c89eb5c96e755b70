import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { collectorSchema } from "./testing/collector-schema.ts";

const INFRA = join(import.meta.dirname, "../../infra");
const scrapes = z.array(
  z.object({ job_name: z.string(), static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
);
const scraping = z.object({ scrape_configs: scrapes });

const read = (path: string): unknown => parse(readFileSync(join(INFRA, path), "utf8"));
const example = collectorSchema.parse(read("observability/collector.yml"));
const scraper = z
  .object({ config: z.record(z.string(), z.unknown()) })
  .parse(example.receivers["prometheus"]);

describe.each(["observability/collector.yml", "containers/collector.yml"])("%s", (path) => {
  const collector = collectorSchema.parse(read(path));
  const pipelines = Object.values(collector.service.pipelines).filter((pipeline) => pipeline !== undefined);

  test("has pipelines of the components that it defines, and uses each of those", () => {
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

test.each([
  ["a component that there is not", { exporters: { otlphttps: { endpoint: "http://127.0.0.1" } } }],
  ["a field that there is not", { processors: { batch: { send_batch_sise: 1 } } }],
  [
    "a limit below what it keeps free",
    { processors: { memory_limiter: { check_interval: "1s", limit_mib: 1, spike_limit_mib: 2 } } },
  ],
  [
    "a policy with another's settings",
    {
      processors: {
        tail_sampling: {
          decision_wait: "60s",
          num_traces: 1,
          policies: [{ name: "slow", type: "numeric_attribute", status_code: { status_codes: ["ERROR"] } }],
        },
      },
    },
  ],
])("%s is refused", (_what, changed) => {
  expect(collectorSchema.safeParse({ ...example, ...changed }).success).toBe(false);
});

test("the collector scrapes what Prometheus does", () => {
  expect(scraping.parse(scraper.config)).toEqual(scraping.parse(read("observability/prometheus.yml")));
});
