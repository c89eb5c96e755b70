import type { Metrics } from "./metric.ts";

/** Metrics of HTTP servers, and of delivery's work for its readers. */
export const DELIVERY_METRICS = {
  reprise_http_request_seconds: {
    kind: "histogram",
    labels: ["service", "method", "route", "status"],
    help: "Time from a request's arrival to the head of its answer, of a stream too; a long-poll waits for as long as it asks for. `status` is the class, `5xx`, or `left` where the client left before its answer.",
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  reprise_http_requests_in_flight: {
    kind: "gauge",
    labels: ["service"],
    help: "Requests whose answer is not over, streams included.",
  },
  reprise_generations_created_total: {
    kind: "counter",
    labels: ["model"],
    help: "Generations that this delivery node has created; a create that joins one is not counted.",
  },
  reprise_first_event_seconds: {
    kind: "histogram",
    labels: ["call"],
    help: "Time from a request's arrival to the write of the first output event to its reader, of creates and of reads that arrive before that event does, whenever their stream begins. `call` is `create` or `read`. A request that is read when a process continues that was stopped has arrived when it stopped.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2, 3, 5, 10, 30, 60],
  },
  reprise_resumes_total: {
    kind: "counter",
    labels: ["result"],
    help: "Streams that were asked for behind a cursor: `resumed`, `ended` (the reader has had all), `fallback` (resumed from the archive) or `gone` (what follows the cursor is no longer kept, was erased, or is lost).",
  },
  reprise_readers_ended_total: {
    kind: "counter",
    labels: ["reason"],
    help: "Streams that are over: `ended` (the reader was sent the generation's end), `left` (the client closed), `drained`, or the code of the error that broke the stream off.",
  },
  reprise_certificate_expires_timestamp_seconds: {
    kind: "gauge",
    help: "When the certificate expires that this delivery node serves its API with, in seconds since 1970; NaN without TLS.",
  },
  reprise_queue_jobs: {
    kind: "gauge",
    labels: ["model"],
    help: "Jobs of a model that wait for a slot, as this delivery node has seen the queue some seconds ago; absent while that is not known. Each node tells of the whole queue: take the greatest.",
  },
  reprise_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["model"],
    help: "For how long the oldest of them has waited, 0 without one; what workers have lost or given back is not looked at. As of the same moment.",
  },
  reprise_blob_bytes_total: {
    kind: "counter",
    labels: ["direction"],
    help: "Bytes of blobs that clients of this delivery node have uploaded (`in`) or were sent (`out`).",
  },
  reprise_blob_uploads_total: {
    kind: "counter",
    labels: ["result"],
    help: "Requests that have brought content of blobs: `stored`, `joined` (the tenant had it already) or `refused`.",
  },
  reprise_blobs_removed_total: {
    kind: "counter",
    labels: ["what"],
    help: "What this delivery node has removed because its time was over: a `blob`, an unfinished or finished `upload`, or an `orphan`, chunks that nothing named.",
  },
  reprise_conversations_expired_total: {
    kind: "counter",
    help: "Conversations that this delivery node has removed because their time was over.",
  },
  reprise_blob_transfers: {
    kind: "gauge",
    help: "Blobs that clients of this delivery node upload or are sent now.",
  },
} as const satisfies Partial<Metrics>;
