import type { Metrics } from "./metric.ts";

/** Metrics of the log: the broker's use, and the path of events. */
export const LOG_METRICS = {
  reprise_broker_connected: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "1 while a connection to the broker is up: `main` (appends, live feed), `reads` (history, checkpoints), `bulk` (jobs, large messages).",
  },
  reprise_broker_reconnects_total: {
    kind: "counter",
    labels: ["service", "connection"],
    help: "Reconnects to the broker.",
  },
  reprise_broker_rtt_seconds: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "Round trip of a ping to the broker in the last 10 s; absent while disconnected.",
  },
  reprise_broker_replicas_missing: {
    kind: "gauge",
    labels: ["service"],
    help: "Missing replicas of the worst stream of logs, jobs or rules, seen some seconds ago; 0 with a single server.",
  },
  reprise_consumer_lag_events: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Events that a consumer has not processed, including unread ones, seen some seconds ago. `analytics`, `audit-log`: of the streams of this process (take the sum); `moderation`: of all (take the maximum).",
  },
  reprise_consumer_unread_ratio: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Age of the oldest event that `analytics` has not processed, as a share of its retention in the broker: it expires at 1. Each process reports all streams: take the minimum.",
  },
  reprise_append_seconds: {
    kind: "histogram",
    labels: ["service", "result"],
    help: "Time from the publish of an event to the broker's answer: `stored`, `conflict`, or `unavailable` (refused, late or disconnected).",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  reprise_log_read_seconds: {
    kind: "histogram",
    labels: ["service", "call"],
    help: "Time of a direct get from a log, including retries: the `last` event or checkpoint, or a `batch`.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  reprise_engine_to_stored_seconds: {
    kind: "histogram",
    help: "Time from an engine's output to the broker's acknowledgement of its event; for merged chunks, from the oldest.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
  reprise_stored_to_delivered_seconds: {
    kind: "histogram",
    labels: ["moderation"],
    help: "Time from an event's storage, by the broker's clock, to its write to a live reader; one event in 32, including moderation, smoothing and slow readers. `moderation` is the mode or `none`.",
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
} as const satisfies Partial<Metrics>;
