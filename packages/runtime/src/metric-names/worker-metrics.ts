import type { Metrics } from "./metric.ts";

const GEN_AI_LABELS = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"] as const;

/**
 * Metrics of workers. Those that begin with `gen_ai` are of each request to an engine, as OpenTelemetry's GenAI conventions name them and Prometheus
 * shows them, with the buckets that the conventions give.
 */
export const WORKER_METRICS = {
  reprise_queue_wait_seconds: {
    kind: "histogram",
    labels: ["model"],
    help: "Time from create to a worker's start, of first attempts, by two clocks.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800],
  },
  reprise_attempts_total: {
    kind: "counter",
    labels: ["model", "result"],
    help: "Attempts: `completed`, `failed`; `engine_failed`, `timeout`, `fallback` (another one followed); `stopped` (fenced or handed over).",
  },
  reprise_runs_total: {
    kind: "counter",
    labels: ["model", "result"],
    help: "Jobs. `stopped`, `superseded`: fenced by an end or attempt; `held`, `nothing_to_do`: no attempt; `error`: redelivered.",
  },
  reprise_slots: {
    kind: "gauge",
    labels: ["model", "engine"],
    help: "Slots of the worker.",
  },
  reprise_slots_used: {
    kind: "gauge",
    labels: ["model", "engine"],
    help: "Slots in use, without waits for tools.",
  },
  reprise_slot_seconds_total: {
    kind: "counter",
    labels: ["model"],
    help: "Time in slots, summed.",
  },
  reprise_timeouts_total: {
    kind: "counter",
    labels: ["model", "timeout"],
    help: "Policies' timeouts in this worker.",
  },
  reprise_checkpoints_total: {
    kind: "counter",
    labels: ["result"],
    help: "Checkpoint writes: `stored`, `conflict` or `unavailable`.",
  },
  reprise_engine_replica_in_flight: {
    kind: "gauge",
    labels: ["model", "replica"],
    help: "Requests at one of several servers; `replica` is its index in `base_urls`.",
  },
  reprise_engine_replica_ejected: {
    kind: "gauge",
    labels: ["model", "replica"],
    help: "1 while a server is ejected.",
  },
  reprise_engine_replica_requests_total: {
    kind: "counter",
    labels: ["model", "replica", "outcome"],
    help: "Requests: `answered`, `busy`, `refused` (key or model), `failed`, or `left` (closed here, or at fault).",
  },
  reprise_engine_time_per_output_token_seconds: {
    kind: "histogram",
    labels: ["model", "engine"],
    help: "Engine time per token after an answer's first chunk.",
    buckets: [0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1],
  },
  gen_ai_client_operation_duration_seconds: {
    kind: "histogram",
    labels: [...GEN_AI_LABELS, "error_type"],
    help: "Time of an engine's answer. `error_type` is an error's code, `<timeout>_timeout`, `cancelled`, `stopped` or empty.",
    buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  gen_ai_client_operation_time_to_first_chunk_seconds: {
    kind: "histogram",
    labels: GEN_AI_LABELS,
    help: "Time to the first chunk, with retries at a busy engine.",
    buckets: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  gen_ai_client_operation_time_per_output_chunk_seconds: {
    kind: "histogram",
    labels: GEN_AI_LABELS,
    help: "Engine time per later chunk.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5],
  },
  gen_ai_client_token_usage: {
    kind: "histogram",
    labels: [...GEN_AI_LABELS, "gen_ai_token_type"],
    help: "Billed tokens, `input` (once per generation) or `output`.",
    buckets: [
      1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ],
  },
} as const satisfies Partial<Metrics>;
