import type { Metrics } from "./metric.ts";

/** Metrics of HTTP servers, and of delivery's work for its readers. */
export const DELIVERY_METRICS = {
  reprise_http_request_seconds: {
    kind: "histogram",
    labels: ["service", "method", "route", "status"],
    help: "Time to the head of an answer, with a long-poll's wait. `status` is a class, or `left` if the client disconnected first.",
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  reprise_http_requests_in_flight: {
    kind: "gauge",
    labels: ["service"],
    help: "Requests without a complete answer, with streams.",
  },
  reprise_generations_created_total: {
    kind: "counter",
    labels: ["model"],
    help: "Created generations, without joins.",
  },
  reprise_first_event_seconds: {
    kind: "histogram",
    labels: ["call"],
    help: "Time from a request to the first output event's write, of creates and earlier reads. A paused process counts from its pause.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2, 3, 5, 10, 30, 60],
  },
  reprise_resumes_total: {
    kind: "counter",
    labels: ["result"],
    help: "Streams after a cursor: `resumed`, `ended` (nothing left), `fallback` (archive) or `gone`.",
  },
  reprise_readers_ended_total: {
    kind: "counter",
    labels: ["reason"],
    help: "Streams: `ended` with the generation, `left` by the client, `drained`, or an error's code.",
  },
  reprise_certificate_expires_timestamp_seconds: {
    kind: "gauge",
    help: "Expiry of the API's certificate, in seconds since 1970; NaN without TLS.",
  },
  reprise_queue_jobs: {
    kind: "gauge",
    labels: ["model"],
    help: "Jobs that wait for a slot, some seconds ago. Each node reports all: take the maximum.",
  },
  reprise_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["model"],
    help: "Wait of the oldest of these; returned jobs are not counted.",
  },
  reprise_blob_bytes_total: {
    kind: "counter",
    labels: ["direction"],
    help: "Bytes of blobs uploaded (`in`) or sent (`out`).",
  },
  reprise_blob_uploads_total: {
    kind: "counter",
    labels: ["result"],
    help: "Uploads: `stored`, `joined` (known to the tenant) or `refused`.",
  },
  reprise_blobs_removed_total: {
    kind: "counter",
    labels: ["what"],
    help: "Removed after expiry: `blob`, `upload`, or `orphan` (unnamed chunks).",
  },
  reprise_conversations_expired_total: {
    kind: "counter",
    help: "Conversations removed after expiry.",
  },
  reprise_blob_transfers: {
    kind: "gauge",
    help: "Blobs in transfer.",
  },
} as const satisfies Partial<Metrics>;
