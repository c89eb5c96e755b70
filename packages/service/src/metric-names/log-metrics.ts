import type { Metrics } from "./metric.ts";

/** Metrics of the log: the broker's use, and the path of events. */
export const LOG_METRICS = {
  reprise_broker_connected: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "1 while a connection of a service to the broker stands; `main` carries appends and the live feed, `reads` history and checkpoints, `bulk` jobs and what is large.",
  },
  reprise_broker_reconnects_total: {
    kind: "counter",
    labels: ["service", "connection"],
    help: "Times that a connection to the broker was lost and made anew.",
  },
  reprise_broker_rtt_seconds: {
    kind: "gauge",
    labels: ["service", "connection"],
    help: "Round trip of a ping to the broker, as of 10 s ago at most; absent while the connection is away.",
  },
  reprise_broker_replicas_missing: {
    kind: "gauge",
    labels: ["service"],
    help: "Replicas that a stream of logs, jobs or rules lacks, of the one that lacks the most, as of some seconds ago: servers of the cluster that are away or do not keep up. 0 with a single server.",
  },
  reprise_consumer_lag_events: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Events of the logs that a consumer has not dealt with, those included that were not read, as of some seconds ago: of `analytics` and `audit-log` in the streams that this process consumes (sum over processes), of `moderation` in all (take the greatest).",
  },
  reprise_consumer_unread_ratio: {
    kind: "gauge",
    labels: ["consumer"],
    help: "Age of the oldest event that a consumer has not dealt with, read or not, as a share of the time for which the broker keeps it: at 1 it expires. Of `analytics`, over all streams of logs and OPS, as of some seconds ago. Each process tells of all of them, by what it knows: take the least.",
  },
  reprise_append_seconds: {
    kind: "histogram",
    labels: ["service", "result"],
    help: "Time from the publish of an event to the broker's answer: `stored`, `conflict`, or `unavailable` for a refusal, none in time, or no connection.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  reprise_log_read_seconds: {
    kind: "histogram",
    labels: ["service", "call"],
    help: "Time of a direct get of a log, of its `last` event or checkpoint or a `batch` of events, further tries included.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  reprise_engine_to_stored_seconds: {
    kind: "histogram",
    help: "Time from what an engine says to the broker's acknowledgement of the event that holds it, of each event that a worker makes; of several chunks that became one event, of the oldest.",
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
  reprise_stored_to_delivered_seconds: {
    kind: "histogram",
    labels: ["moderation"],
    help: "Time from the broker's storing of an event to its write to a reader, of one event in 32 of each live generation and each of its readers: the node's clock against the broker's, to the millisecond. Moderation of a `gate`, smoothing and slow readers are in it, with fewer events of a slow one; what readers catch up on is not. `moderation` is the mode, or `none`.",
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30],
  },
} as const satisfies Partial<Metrics>;
