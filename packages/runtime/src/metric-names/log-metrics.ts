import type { Metrics } from "./metric.ts";

/** Metrics of the log: the broker's use, and the path of events. */
export const LOG_METRICS = {
  reprise_broker_connected: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "1 while connected: `main` (appends, live feed), `reads` (history, checkpoints), `bulk` (jobs, large messages).",
  },
  reprise_broker_reconnects_total: {
    kind: "counter",
    labels: ["service", "connection"],
    help: "Reconnects to the broker.",
  },
  reprise_broker_rtt_seconds: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "Ping within the last 10 s; absent while disconnected.",
  },
  reprise_broker_replicas_missing: {
    kind: "gauge",
    labels: ["service"],
    help: "Missing replicas of the worst stream; 0 with a single server.",
  },
  reprise_consumer_lag_events: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Events not processed, with unread ones: per process, take the sum; of `moderation` in all, take the maximum.",
  },
  reprise_consumer_unread_ratio: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Age of `analytics`' oldest unprocessed event, as a share of its retention; expires at 1. Take the minimum.",
  },
  reprise_append_seconds: {
    kind: "histogram",
    labels: ["service", "result"],
    help: "Time of a publish: `stored`, `conflict` or `unavailable`.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  reprise_log_read_seconds: {
    kind: "histogram",
    labels: ["service", "call"],
    help: "Time of a direct get with retries: `last` event or checkpoint, or `batch`.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  reprise_engine_to_stored_seconds: {
    kind: "histogram",
    help: "Time from an engine's oldest chunk of an event to its storage.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
  reprise_stored_to_delivered_seconds: {
    kind: "histogram",
    labels: ["moderation"],
    help: "Time from storage (broker's clock) to a live reader's write, of one event in 32; with moderation, smoothing and slow readers.",
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
} as const satisfies Partial<Metrics>;
