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
    help: "Time from a generation's creation to the moment a worker took its job, of first attempts. The clocks of two machines may differ.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800],
  },
  reprise_attempts_total: {
    kind: "counter",
    labels: ["model", "result"],
    help: "Attempts of this worker that are over: `completed` and `failed` ended their generation, `engine_failed`, `timeout` and `fallback` were followed by a further one here, `stopped` ones by another process's event or a handover.",
  },
  reprise_runs_total: {
    kind: "counter",
    labels: ["model", "result"],
    help: "Jobs that this worker has dealt with. `stopped` and `superseded` ones were fenced, by another process's end or a higher attempt; `held` and `nothing_to_do` began no attempt; `error` ones come back.",
  },
  reprise_slots: {
    kind: "gauge",
    labels: ["model", "engine"],
    help: "Generations of a model that this worker runs at a time at most.",
  },
  reprise_slots_used: {
    kind: "gauge",
    labels: ["model", "engine"],
    help: "Slots that generations have now; those that wait for tools have none.",
  },
  reprise_slot_seconds_total: {
    kind: "counter",
    labels: ["model"],
    help: "Time that generations have had slots, summed over slots, to the second.",
  },
  reprise_timeouts_total: {
    kind: "counter",
    labels: ["model", "timeout"],
    help: "Timeouts of policies that have struck in this worker: `first_token`, `between_tokens`, `total` or `tool_result`. Those that the reaper finds are in `reprise_generations_reaped_total`.",
  },
  reprise_checkpoints_total: {
    kind: "counter",
    labels: ["result"],
    help: "Checkpoints that were written, by what the broker said: `stored`, `conflict` or `unavailable`.",
  },
  reprise_engine_replica_in_flight: {
    kind: "gauge",
    labels: ["model", "replica"],
    help: "Requests that a server of a model has from this worker now, of models with several. `replica` is its place in `base_urls`, from 0.",
  },
  reprise_engine_replica_ejected: {
    kind: "gauge",
    labels: ["model", "replica"],
    help: "1 while a server of a model gets no requests from this worker because it has failed; otherwise 0.",
  },
  reprise_engine_replica_requests_total: {
    kind: "counter",
    labels: ["model", "replica", "outcome"],
    help: "Requests to a server of a model that have ended: `answered`; `busy`, which had no room; `refused`, by its key or model; `failed`; `left` by this worker, or at fault themselves.",
  },
  reprise_engine_time_per_output_token_seconds: {
    kind: "histogram",
    labels: ["model", "engine"],
    help: "Of each answer that has ended: the time that the engine took behind its first chunk, by the tokens behind that. Waits of ours are left out.",
    buckets: [0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.5, 1],
  },
  gen_ai_client_operation_duration_seconds: {
    kind: "histogram",
    labels: [...GEN_AI_LABELS, "error_type"],
    help: "Time of a request to an engine, to the end of its answer. `error_type` is the error's code, the timeout's name with `_timeout`, `cancelled`, `stopped` where the generation went on elsewhere, or empty.",
    buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  gen_ai_client_operation_time_to_first_chunk_seconds: {
    kind: "histogram",
    labels: GEN_AI_LABELS,
    help: "Time from a request to an engine to the first chunk of its answer, waits for an engine that was busy included.",
    buckets: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  gen_ai_client_operation_time_per_output_chunk_seconds: {
    kind: "histogram",
    labels: GEN_AI_LABELS,
    help: "Time that an engine took for each chunk behind the first, the end of its answer included. Waits of ours, for readers or the log, are left out.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5],
  },
  gen_ai_client_token_usage: {
    kind: "histogram",
    labels: [...GEN_AI_LABELS, "gen_ai_token_type"],
    help: "Tokens of a request to an engine, `input` or `output`, as they are billed: by the engine's count, or for the output by that of its chunks; the input once for a generation, of a stopped request what was stored. The sum counts all of them.",
    buckets: [
      1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ],
  },
} as const satisfies Partial<Metrics>;
