import { readFileSync } from "node:fs";
import { GEN_AI, GEN_AI_METRIC } from "../telemetry/index.ts";
import { describe, expect, test } from "vitest";
import { METRICS } from "./metric-names.ts";
import { createMetrics } from "./metrics.ts";

describe("metrics", () => {
  test("are rendered as Prometheus reads them, one of each name", async () => {
    const metrics = createMetrics({ processMetrics: false });
    metrics.counter("reprise_events_delivered_total").inc(1);
    metrics.counter("reprise_events_delivered_total").inc(2);
    metrics.gauge("reprise_readers").set(2);
    metrics.histogram("reprise_moderation_lag_characters").observe(30);
    metrics.counter("reprise_generations_ended_total").inc({ status: "failed" });
    const text = await metrics.render();
    expect(text).toContain("\nreprise_events_delivered_total 3\n");
    expect(text).toContain("\nreprise_readers 2\n");
    expect(text).toContain('\nreprise_moderation_lag_characters_bucket{le="10"} 0\n');
    expect(text).toContain('\nreprise_moderation_lag_characters_bucket{le="50"} 1\n');
    expect(text).toContain('\nreprise_generations_ended_total{status="failed"} 1\n');
  });

  test("of a distribution are the same that prom-client makes of the same values", async () => {
    const [ours, theirs] = [
      createMetrics({ processMetrics: false }),
      createMetrics({ processMetrics: false }),
    ];
    for (const value of [0, 0.002, 0.003, 0.0100001, 2, 60]) {
      ours.observer("reprise_classifier_seconds", { classifier: 'a"b\\' }).observe(value);
      theirs.histogram("reprise_classifier_seconds").observe({ classifier: 'a"b\\' }, value);
    }
    const sorted = async (metrics: typeof ours) => (await metrics.render()).split("\n").toSorted();
    expect(await sorted(ours)).toEqual(await sorted(theirs));
  });

  test("that observe a value ask for it at each scrape", async () => {
    const metrics = createMetrics({ processMetrics: false });
    let bytes = 1;
    metrics.observe("reprise_hub_memory_bytes", () => bytes);
    metrics.observe("reprise_repairs_total", () => bytes / 2);
    await metrics.render();
    bytes = 4_096;
    const text = await metrics.render();
    expect(text).toContain("\nreprise_hub_memory_bytes 4096\n");
    expect(text).toContain("\nreprise_repairs_total 2048\n");
  });

  test("of two processes never mix", async () => {
    const [one, other] = [createMetrics({ processMetrics: false }), createMetrics({ processMetrics: false })];
    one.gauge("reprise_readers").set(7);
    expect(await other.render()).not.toContain("reprise_readers");
  });

  test("of the process itself are there unless they are not wanted", async () => {
    expect(await createMetrics().render()).toContain("process_cpu_seconds_total");
    expect(await createMetrics({ processMetrics: false }).render()).not.toContain(
      "process_cpu_seconds_total",
    );
  });

  test("that count have names that end with _total", () => {
    const counters = Object.entries(METRICS).filter(([, { kind }]) => kind === "counter");
    expect(counters.map(([name]) => name)).toEqual(counters.map(() => expect.stringMatching(/_total$/)));
  });
});

test("metrics of calls of a model have the names and labels of OpenTelemetry's conventions, as Prometheus spells them", () => {
  const spelled = (name: string) => name.replaceAll(".", "_");
  const calls = Object.entries(METRICS).filter(([name]) => name.startsWith("gen_ai_"));
  expect(calls.map(([name]) => name.replace(/_seconds$/, "")).toSorted()).toEqual(
    Object.values(GEN_AI_METRIC).map(spelled).toSorted(),
  );
  const known = [...Object.values(GEN_AI), "error.type"].map(spelled);
  const labels = calls.flatMap(([, metric]) => ("labels" in metric ? metric.labels : []));
  expect(labels.filter((label) => !known.includes(label))).toEqual([]);
});

test("a process says which version it runs: that of package.json", async () => {
  const { version } = JSON.parse(
    readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  expect(await createMetrics().render()).toContain(
    `\nreprise_build_info{version="${version}",node="${process.versions.node}"} 1\n`,
  );
});
