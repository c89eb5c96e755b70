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
    help: "1, with the version of Reprise and that of Node that this process runs.",
    labels: ["version", "node"],
  },
  reprise_generations_running: { kind: "gauge", help: "Generations that this worker runs now." },
  reprise_generations_ended_total: {
    kind: "counter",
    help: "Generations that this process has ended: a worker its own, delivery those that clients cancel. `fault` is whose doing it is: `platform`, `engine`, `tenant` (a budget) or `client` (a cancel, a request or a tool's answer); `none` of completed ones.",
    labels: ["status", "fault"],
  },
  reprise_generations_reaped_total: {
    kind: "counter",
    help: "Generations that this delivery node has ended because no worker ended them in time, or because they had no reader. `fault` is `engine` of `total_timeout`, `client` of `abandoned`, and else `platform`.",
    labels: ["reason", "fault"],
  },
  reprise_events_delivered_total: {
    kind: "counter",
    help: "Events written to readers, once for each reader.",
  },
  reprise_readers: { kind: "gauge", help: "Readers that are connected now." },
  reprise_readers_fallen_back_total: {
    kind: "counter",
    help: "Times that a slow reader fell behind the memory of its node and went on from the log at its own pace.",
  },
  reprise_reader_marks_lost_total: {
    kind: "counter",
    help: "Readers whose last delivery mark could not be recorded because the broker was away for too long.",
  },
  reprise_connections_refused_total: {
    kind: "counter",
    help: "Connections refused because their address had too many open connections.",
  },
  reprise_requests_refused_total: {
    kind: "counter",
    help: "Requests refused because their tenant had too many bytes of requests under way.",
  },
  reprise_limits_exceeded_total: {
    kind: "counter",
    labels: ["limit"],
    help: "Calls refused because a limit of their tenant was reached; `budget` for all budgets.",
  },
  reprise_limits_local: {
    kind: "gauge",
    help: "1 while Redis does not answer and this delivery node grants its share of each limit and budget; otherwise 0.",
  },
  reprise_analytics_lanes: { kind: "gauge", help: "Streams that this process measures now." },
  reprise_analytics_open_generations: {
    kind: "gauge",
    help: "Generations without an end that this process keeps a fold of.",
  },
  reprise_analytics_open_connections: {
    kind: "gauge",
    help: "Readers' connections that are not over, as this process knows of them.",
  },
  reprise_analytics_deliveries_total: {
    kind: "counter",
    help: "Rows that analytics has committed of readers' connections, workers' attempts and clients' reports.",
  },
  reprise_analytics_events_total: {
    kind: "counter",
    help: "Events that analytics has folded and committed.",
  },
  reprise_usage_events_total: {
    kind: "counter",
    labels: ["sink"],
    help: "Usage events that were delivered: to a `file`, the `stream`, the `webhook` or `lago`.",
  },
  reprise_analytics_rows_total: {
    kind: "counter",
    help: "Generations whose row analytics has committed.",
  },
  reprise_analytics_strays_total: {
    kind: "counter",
    help: "Messages that analytics left out: behind a generation's end, of a log whose beginning had expired or that never ended, or malformed.",
  },
  reprise_analytics_lost_total: {
    kind: "counter",
    labels: ["what"],
    help: "What analytics has no row of because it expired unread: `events` of logs, `records` of OPS, and `generations` that have no row, or an incomplete one, as far as they are known. Each is an alarm.",
  },
  reprise_analytics_forgotten_total: {
    kind: "counter",
    help: "Rows from which analytics has taken the metadata, as their generations were erased.",
  },
  reprise_job_bytes: {
    kind: "gauge",
    help: "Bytes of the requests of the generations that this worker runs.",
  },
  reprise_request_bytes: {
    kind: "gauge",
    help: "Bytes of request bodies that this delivery node holds now.",
  },
  reprise_dependency_up: {
    kind: "gauge",
    labels: ["service", "dependency"],
    help: "1 while a service's dependency answers, as far as its use shows; 0 while it is away.",
  },
  reprise_dependency_losses_total: {
    kind: "counter",
    labels: ["service", "dependency"],
    help: "Times that a service's dependency went away for longer than its grace period.",
  },
  reprise_repairs_total: {
    kind: "counter",
    help: "Times that this process repaired the live feed from the log.",
  },
  reprise_malformed_messages_total: {
    kind: "counter",
    help: "Malformed messages from the broker that were refused: no part of the platform writes them. Each is an alarm.",
  },
  reprise_hub_memory_bytes: {
    kind: "gauge",
    help: "Bytes of events that this delivery node keeps in memory, and of the frames of other protocols that it has made of them.",
  },
  reprise_hub_generations: { kind: "gauge", help: "Generations that this delivery node keeps in memory." },
  reprise_moderation_events_total: { kind: "counter", help: "Events that this process has judged." },
  reprise_moderation_decisions_total: {
    kind: "counter",
    help: "Events that moderation has appended to logs.",
    labels: ["type"],
  },
  reprise_moderation_generations: { kind: "gauge", help: "Generations that this process judges now." },
  reprise_moderation_held_characters: {
    kind: "gauge",
    help: "Characters that are not cleared yet because they could still become part of a match.",
  },
  reprise_moderation_unavailable_total: {
    kind: "counter",
    help: "Times that this delivery node recorded that moderation is unavailable.",
    labels: ["answer"],
  },
  reprise_moderation_lag_seconds: {
    kind: "histogram",
    help: "Age of the oldest unjudged text on this delivery node when it was judged; of generations with mode retract that have a reader.",
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  reprise_moderation_lag_characters: {
    kind: "histogram",
    help: "Characters shown on this delivery node before they were judged; of generations with mode retract that have a reader.",
    buckets: [0, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000],
  },
  reprise_classifier_seconds: {
    kind: "histogram",
    labels: ["classifier"],
    help: "Time from asking a classifier about a window to its judgement or failure, the wait for its turn included.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  reprise_classifier_failures_total: {
    kind: "counter",
    labels: ["classifier"],
    help: "Windows that a classifier was asked about and did not answer in time, or at all.",
  },
  reprise_classifier_open: {
    kind: "gauge",
    labels: ["classifier"],
    help: "1 while a classifier is not asked because it has failed too often, as of the last window; otherwise 0.",
  },
  reprise_consumer_lag_seconds: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Age of the oldest event that this process has read and not dealt with, as a consumer of the logs: `moderation` or `analytics`. That of the audit log is `reprise_audit_lag_seconds`.",
  },
  reprise_audit_events_total: { kind: "counter", help: "Messages that this process has archived." },
  reprise_audit_commits_total: {
    kind: "counter",
    help: "Commits that this process has made in the archive.",
  },
  reprise_audit_commit_seconds: {
    kind: "histogram",
    help: "Time from a batch that has been read to its commit in the archive.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  reprise_audit_archived_bytes_total: {
    kind: "counter",
    help: "Bytes of the files that this process has committed for streams that it archives.",
  },
  reprise_witness_lag_size: {
    kind: "gauge",
    labels: ["witness"],
    help: "Commits of the archive that a witness has not cosigned, as far as this process knows; all of them until its first answer.",
  },
  reprise_witness_requests_total: {
    kind: "counter",
    labels: ["result"],
    help: "Checkpoints that this witness was asked to cosign. `inconsistent` is an alarm: a log shows two histories.",
  },
  reprise_audit_lanes: { kind: "gauge", help: "Streams that this process archives now." },
  reprise_audit_lost_total: {
    kind: "counter",
    help: "Messages that expired before they were archived. Each is an alarm.",
  },
  reprise_audit_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest message that this process has read and not archived.",
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
