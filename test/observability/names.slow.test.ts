import { type MetricName, METRICS } from "@reprise/runtime";
import { expect, test } from "vitest";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { DASHBOARD_EXPRESSIONS } from "./testing/dashboards.ts";
import { drive } from "./testing/drive.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";

const RULES = Object.values(ruleFiles())
  .flat()
  .flatMap(({ rules }) => rules);
const RECORDED = new Set(RULES.flatMap((rule) => ("record" in rule ? [rule.record] : [])));
/** Series of the platform that rules, alerts and dashboards name: of a histogram `…_bucket`, `…_sum` and `…_count`. */
const NAMED = new Set(
  [...RULES.map(({ expr }) => expr), ...DASHBOARD_EXPRESSIONS]
    .flatMap((expr) => expr.match(/\breprise[_:][\w:]+/g) ?? [])
    .filter((name) => !RECORDED.has(name)),
);

/** Metrics of which a healthy platform, driven for seconds, has no sample. */
const NOT_DRIVEN: ReadonlySet<string> = new Set<MetricName>([
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
  // The audit log has no witness here.
  "reprise_witness_lag_size",
]);

test("a driven platform emits every metric that is declared, and every one that a rule, an alert or a dashboard names", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  const declared = Object.entries(METRICS).map(([name, { kind }]) =>
    kind === "histogram" ? `${name}_bucket` : name,
  );
  const missing = async () => {
    const texts = await Promise.all(platform.services.map(scrape));
    const emitted = new Set(texts.flatMap((text) => text.match(/^(?:reprise|gen_ai)_\w+/gm) ?? []));
    return [...declared, ...NAMED].filter(
      (name) => !emitted.has(name) && !NOT_DRIVEN.has(name.replace(/_(?:bucket|sum|count)$/, "")),
    );
  };
  // Analytics commits what it has read some seconds later.
  await expect.poll(missing, { interval: 250 }).toEqual([]);
});
