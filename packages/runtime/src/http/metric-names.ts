import { BUDGET_METRICS } from "../metric-names/budget-metrics.ts";
import { DELIVERY_METRICS } from "../metric-names/delivery-metrics.ts";
import { LOG_METRICS } from "../metric-names/log-metrics.ts";
import { TENANT_METRICS } from "../metric-names/tenant-metrics.ts";
import { WORKER_METRICS } from "../metric-names/worker-metrics.ts";
import type { Metric, Metrics } from "../metric-names/metric.ts";

/**
 * Every metric of the platform. Labels have few values: never a generation or a reader, and a tenant only where their number is bounded.
 * `status` is a terminal event's, `reason` one of
 * `queue_timeout`, `total_timeout`, `worker_lost` and `abandoned`.
 */
export const METRICS = {
  reprise_build_info: {
    kind: "gauge",
    help: "1; the labels are the versions of Reprise and Node.",
    labels: ["version", "node"],
  },
  reprise_generations_running: { kind: "gauge", help: "Running generations." },
  reprise_generations_ended_total: {
    kind: "counter",
    help: "Generations ended by this worker, or cancelled at this node. `fault` is `platform`, `engine`, `tenant` (a budget), `client`, or `none` if completed.",
    labels: ["status", "fault"],
  },
  reprise_generations_reaped_total: {
    kind: "counter",
    help: "Generations ended by this node's reaper. `fault` is `engine` for `total_timeout`, `client` for `abandoned`, else `platform`.",
    labels: ["reason", "fault"],
  },
  reprise_events_delivered_total: {
    kind: "counter",
    help: "Events written to readers, each reader counted.",
  },
  reprise_readers: { kind: "gauge", help: "Connected readers." },
  reprise_readers_fallen_back_total: {
    kind: "counter",
    help: "Slow readers that continued from the log.",
  },
  reprise_reader_marks_lost_total: {
    kind: "counter",
    help: "Last delivery marks lost in an outage of the broker.",
  },
  reprise_connections_refused_total: {
    kind: "counter",
    help: "Connections refused: too many of their address.",
  },
  reprise_requests_refused_total: {
    kind: "counter",
    help: "Requests refused: too many bytes of their tenant under way.",
  },
  reprise_limits_exceeded_total: {
    kind: "counter",
    labels: ["limit"],
    help: "Calls refused by a tenant's limit; `budget` covers all budgets.",
  },
  reprise_limits_local: {
    kind: "gauge",
    help: "1 while Redis is away and this node grants its share of limits and budgets.",
  },
  reprise_analytics_lanes: { kind: "gauge", help: "Streams that this process reads now." },
  reprise_analytics_open_generations: {
    kind: "gauge",
    help: "Folds of generations without an end.",
  },
  reprise_analytics_open_connections: {
    kind: "gauge",
    help: "Readers' connections known to be open.",
  },
  reprise_analytics_deliveries_total: {
    kind: "counter",
    help: "Committed rows of connections, attempts and clients' reports.",
  },
  reprise_analytics_events_total: {
    kind: "counter",
    help: "Events folded and committed.",
  },
  reprise_usage_events_total: {
    kind: "counter",
    labels: ["sink"],
    help: "Usage events delivered to `file`, `stream`, `webhook` or `lago`.",
  },
  reprise_analytics_rows_total: {
    kind: "counter",
    help: "Generations whose row is committed.",
  },
  reprise_analytics_strays_total: {
    kind: "counter",
    help: "Messages left out: after an end, of an incomplete log, or malformed.",
  },
  reprise_analytics_lost_total: {
    kind: "counter",
    labels: ["what"],
    help: "`events`, `records` of OPS or `generations` that expired unread. Alert on any.",
  },
  reprise_analytics_forgotten_total: {
    kind: "counter",
    help: "Rows whose metadata was removed by an erasure.",
  },
  reprise_job_bytes: {
    kind: "gauge",
    help: "Bytes of the requests of running generations.",
  },
  reprise_request_bytes: {
    kind: "gauge",
    help: "Bytes of request bodies in memory.",
  },
  reprise_dependency_up: {
    kind: "gauge",
    labels: ["service", "dependency"],
    help: "1 while a dependency answers, as far as its use shows.",
  },
  reprise_dependency_losses_total: {
    kind: "counter",
    labels: ["service", "dependency"],
    help: "Absences longer than the grace period.",
  },
  reprise_repairs_total: {
    kind: "counter",
    help: "Repairs of the live feed from the log.",
  },
  reprise_malformed_messages_total: {
    kind: "counter",
    help: "Malformed messages of the broker. Alert on any.",
  },
  reprise_hub_memory_bytes: {
    kind: "gauge",
    help: "Bytes of events and other protocols' frames in memory.",
  },
  reprise_hub_generations: { kind: "gauge", help: "Generations in memory." },
  reprise_moderation_events_total: { kind: "counter", help: "Events judged." },
  reprise_moderation_decisions_total: {
    kind: "counter",
    help: "Events appended to logs by moderation.",
    labels: ["type"],
  },
  reprise_moderation_generations: { kind: "gauge", help: "Generations that this process judges now." },
  reprise_moderation_held_characters: {
    kind: "gauge",
    help: "Characters held because they could become part of a match.",
  },
  reprise_moderation_unavailable_total: {
    kind: "counter",
    help: "Recorded absences of moderation.",
    labels: ["answer"],
  },
  reprise_moderation_lag_seconds: {
    kind: "histogram",
    help: "Age of the oldest unjudged text when judged; `retract`, with a reader.",
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  reprise_moderation_lag_characters: {
    kind: "histogram",
    help: "Characters shown before they were judged; `retract`, with a reader.",
    buckets: [0, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000],
  },
  reprise_classifier_seconds: {
    kind: "histogram",
    labels: ["classifier"],
    help: "Time of a classifier for a window, with its queue.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  reprise_classifier_failures_total: {
    kind: "counter",
    labels: ["classifier"],
    help: "Windows without an answer in time.",
  },
  reprise_classifier_open: {
    kind: "gauge",
    labels: ["classifier"],
    help: "1 while a classifier is not asked after failures.",
  },
  reprise_consumer_lag_seconds: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Age of the oldest event read and not processed.",
  },
  reprise_audit_events_total: { kind: "counter", help: "Messages archived." },
  reprise_audit_commits_total: {
    kind: "counter",
    help: "Commits to the archive.",
  },
  reprise_audit_commit_seconds: {
    kind: "histogram",
    help: "Time from a batch's read to its commit.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  reprise_audit_archived_bytes_total: {
    kind: "counter",
    help: "Bytes of committed archive files.",
  },
  reprise_witness_lag_size: {
    kind: "gauge",
    labels: ["witness"],
    help: "Archive commits without a witness's cosignature, as known.",
  },
  reprise_witness_requests_total: {
    kind: "counter",
    labels: ["result"],
    help: "Checkpoints submitted. Alert on `inconsistent`: a log shows two histories.",
  },
  reprise_audit_lanes: { kind: "gauge", help: "Streams that this process archives now." },
  reprise_audit_lost_total: {
    kind: "counter",
    help: "Messages expired before they were archived. Alert on any.",
  },
  reprise_audit_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest message read and not archived.",
  },
  ...DELIVERY_METRICS,
  ...WORKER_METRICS,
  ...LOG_METRICS,
  ...TENANT_METRICS,
  ...BUDGET_METRICS,
} as const satisfies Partial<Metrics>;

export type MetricName = keyof typeof METRICS;

/** The names of one kind. */
export type MetricNameOf<Kind extends Metric["kind"]> = {
  [N in MetricName]: (typeof METRICS)[N] extends { kind: Kind } ? N : never;
}[MetricName];

/** The labels of one metric; never for a metric without any. */
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name] extends {
  labels: readonly (infer L extends string)[];
}
  ? L
  : never;
