import { type MetricName, METRICS } from "@reprise/service";
import { describe, expect, test } from "vitest";
import { DASHBOARDS } from "../../infra/observability/dashboards/dashboards.ts";
import { isPrometheusTarget } from "../../infra/observability/dashboards/panels.ts";
import type { RuleGroup } from "../../infra/observability/rules/rule.ts";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { drive } from "./testing/drive.ts";
import { parseExposition } from "./testing/exposition.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";
import { namesIn } from "./testing/promql-names.ts";
import { findUnknownNames } from "./testing/unknown-names.ts";

const GROUPS: readonly RuleGroup[] = Object.values(ruleFiles()).flat();
const expressionsOf = (groups: readonly RuleGroup[]) =>
  groups.flatMap(({ rules }) => rules).map(({ expr }) => expr);

test("a platform that has done some work emits every metric and label that a rule, an alert or a dashboard names", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  const drawn = Object.values(DASHBOARDS)
    .flatMap(({ panels }) => panels)
    .flatMap(({ targets = [] }) => targets)
    .filter(isPrometheusTarget)
    .map(({ expr }) => expr);
  const unknown = async () => {
    const texts = await Promise.all(platform.services.map(scrape));
    const emitted = parseExposition(texts, ["job", "instance"]);
    return findUnknownNames([...expressionsOf(GROUPS), ...drawn], GROUPS, emitted);
  };
  // Analytics commits what it has read some seconds later.
  await expect.poll(unknown, { timeout: 30_000, interval: 250 }).toEqual([]);
});

/** What a platform in health, driven for seconds, has no sample of. */
const NOT_DRIVEN: readonly MetricName[] = [
  "reprise_moderation_unavailable_total",
  "reprise_classifier_seconds",
  "reprise_classifier_failures_total",
  "reprise_classifier_open",
  "reprise_timeouts_total",
  // No model has several servers here.
  "reprise_engine_replica_in_flight",
  "reprise_engine_replica_ejected",
  "reprise_engine_replica_requests_total",
  // No blob is uploaded here.
  "reprise_blob_bytes_total",
  "reprise_blob_uploads_total",
  "reprise_blobs_removed_total",
  // The audit log is not given its witness here.
  "reprise_witness_lag_size",
];

test("a platform that has done some work has a sample of every metric that is declared, but for those that tell of what it has not done", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  const missing = async () => {
    const emitted = parseExposition(await Promise.all(platform.services.map(scrape)), []);
    return Object.entries(METRICS)
      .filter(([name, { kind }]) => !emitted.has(kind === "histogram" ? `${name}_bucket` : name))
      .map(([name]) => name)
      .filter((name) => !NOT_DRIVEN.includes(name as MetricName));
  };
  // Analytics commits what it has read some seconds later.
  await expect.poll(missing, { timeout: 30_000, interval: 250 }).toEqual([]);
});

describe("the search for unknown names", () => {
  const emitted = parseExposition(
    ['# HELP a_total x\na_total{status="ok",x="}"} 1\nb_bucket{le="1"} 2'],
    ["job"],
  );
  const recorded: RuleGroup = {
    name: "planted",
    interval: "30s",
    rules: [{ record: "reprise:kept", expr: "sum by (status) (a_total)", labels: { slo: "x" } }],
  };

  test.each([
    ['rate(a_total{status="ok", job=~"x{}.+"}[5m]) > 0.5', []],
    ['rate(c_total{status="ok"}[5m])', ["c_total"]],
    ['sum(a_total{state="ok"})', ["a_total{state}"]],
    ["sum by (state) (a_total)", ["label state in sum by (state) (a_total)"]],
    ['b_bucket{le="1.0"} / on (job) group_left (status) a_total', []],
    ['reprise:kept{slo="x", status="ok"} and on () vector(1)', []],
    ['reprise:kept{x="y"} unless reprise:lost', ["reprise:kept{x}", "reprise:lost"]],
  ])("finds in %s what is not emitted", (expr, unknown) => {
    expect(findUnknownNames([expr], [recorded], emitted)).toEqual(unknown);
  });

  test("takes no function, keyword, number, range or text for a metric", () => {
    const expr = `(sum(increase(a_total{x="in {text}"}[5m])) or vector(0)) > bool 1e3 and max_over_time(b[1h:30s]) offset 5m`;
    expect(namesIn(expr).series).toEqual([
      { metric: "a_total", labels: ["x"] },
      { metric: "b", labels: [] },
    ]);
  });
});
