import type { Metrics } from "./metric.ts";

/** Metrics of HTTP servers, and of delivery's work for its readers. */
export const DELIVERY_METRICS = {
  reprise_http_request_seconds: {
    kind: "histogram",
    labels: ["service", "method", "route", "status"],
    help: "Time from a request's arrival to the head of its answer, including a long-poll's wait. `status` is a class such as `5xx`, or `left` if the client disconnected before the answer.",
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  reprise_http_requests_in_flight: {
    kind: "gauge",
    labels: ["service"],
    help: "Requests without a complete answer, including streams.",
  },
  reprise_generations_created_total: {
    kind: "counter",
    labels: ["model"],
    help: "Generations created by this node, without joins.",
  },
  reprise_first_event_seconds: {
    kind: "histogram",
    labels: ["call"],
    help: "Time from a request's arrival to the write of the first output event to its reader; `create`, or `read` for reads that arrive before that event. After a pause of the process, a request counts from the pause's beginning.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2, 3, 5, 10, 30, 60],
  },
  reprise_resumes_total: {
    kind: "counter",
    labels: ["result"],
    help: "Streams requested after a cursor: `resumed`, `ended` (the reader has everything), `fallback` (from the archive) or `gone` (expired, erased or lost).",
  },
  reprise_readers_ended_total: {
    kind: "counter",
    labels: ["reason"],
    help: "Ended streams: `ended` (with the generation), `left` (by the client), `drained`, or an error's code.",
  },
  reprise_certificate_expires_timestamp_seconds: {
    kind: "gauge",
    help: "Expiry of the API's certificate, in seconds since 1970; NaN without TLS.",
  },
  reprise_queue_jobs: {
    kind: "gauge",
    labels: ["model"],
    help: "Jobs that wait for a slot, seen some seconds ago; absent if unknown. Each node reports the whole queue: take the maximum.",
  },
  reprise_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["model"],
    help: "Wait of the oldest of these jobs, 0 without one; lost and returned jobs are not counted.",
  },
  reprise_blob_bytes_total: {
    kind: "counter",
    labels: ["direction"],
    help: "Bytes of blobs uploaded (`in`) or sent (`out`).",
  },
  reprise_blob_uploads_total: {
    kind: "counter",
    labels: ["result"],
    help: "Requests with content of blobs: `stored`, `joined` (the tenant had it) or `refused`.",
  },
  reprise_blobs_removed_total: {
    kind: "counter",
    labels: ["what"],
    help: "Expired data removed by this node: a `blob`, an `upload`, or an `orphan` (chunks without a name).",
  },
  reprise_conversations_expired_total: {
    kind: "counter",
    help: "Expired conversations removed by this node.",
  },
  reprise_blob_transfers: {
    kind: "gauge",
    help: "Blobs in transfer to or from clients.",
  },
} as const satisfies Partial<Metrics>;
