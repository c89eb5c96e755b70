import { type MetricName, METRICS } from "@reprise/service";
import { expect, test } from "vitest";
import type { RuleGroup } from "../../infra/observability/rules/rule.ts";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { DASHBOARD_EXPRESSIONS } from "./testing/dashboards.ts";
import { drive } from "./testing/drive.ts";
import { parseExposition } from "./testing/exposition.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";
import { findUnknownNames } from "./testing/unknown-names.ts";

const GROUPS: readonly RuleGroup[] = Object.values(ruleFiles()).flat();
const expressionsOf = (groups: readonly RuleGroup[]) =>
  groups.flatMap(({ rules }) => rules).map(({ expr }) => expr);

/** Metrics of NATS's own exporter, as its source names them: it is not run here. */
const OF_THE_EXPORTER = ["jetstream_server_total_message_bytes", "jetstream_server_max_storage"];
/** The audit log is not given its witness here. */
const OF_WITNESSING = [
  "reprise_witness_lag_size",
  "label witness in max by (witness) (reprise_witness_lag_size) > 0",
];

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

test("a platform that has done some work emits every metric and label that a rule, an alert or a dashboard names, and every metric that is declared", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  const scrapeAll = () => Promise.all(platform.services.map(scrape));
  const unknown = async () => {
    const emitted = parseExposition(await scrapeAll(), ["job", "instance"]);
    const found = findUnknownNames([...expressionsOf(GROUPS), ...DASHBOARD_EXPRESSIONS], GROUPS, emitted);
    return found.filter((name) => ![...OF_THE_EXPORTER, ...OF_WITNESSING].includes(name));
  };
  const missing = async () => {
    const emitted = parseExposition(await scrapeAll(), []);
    return Object.entries(METRICS)
      .filter(([name, { kind }]) => !emitted.has(kind === "histogram" ? `${name}_bucket` : name))
      .map(([name]) => name)
      .filter((name) => !NOT_DRIVEN.includes(name as MetricName));
  };
  // Analytics commits what it has read some seconds later.
  await expect.poll(unknown, { interval: 250 }).toEqual([]);
  await expect.poll(missing, { interval: 250 }).toEqual([]);
});
