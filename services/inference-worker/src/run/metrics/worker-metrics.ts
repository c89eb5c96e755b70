import type { Fault } from "@reprise/protocol";
import type { Metrics } from "@reprise/runtime";
import { GEN_AI_OPERATION } from "@reprise/runtime/telemetry";
import type { TokenObservers } from "./token-meter.ts";
import { TurnTiming } from "./turn-timing.ts";

/** The result of an attempt; `stopped`: by another process, or because this worker is to stop. */
export type AttemptResult = "completed" | "failed" | "timeout" | "fallback" | "engine_failed" | "stopped";

/** Counts the runs of a worker. Models are those that are configured: labels have few values. */
export class WorkerMetrics {
  readonly #metrics: Metrics;
  /** An event that this worker has made is stored, so long after the engine has said the oldest part of it. */
  readonly storedAfter: (ms: number) => void;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    const stored = metrics.observer("reprise_engine_to_stored_seconds");
    this.storedAfter = (ms) => stored.observe(ms / 1_000);
  }

  queueWait(model: string, ms: number): void {
    this.#metrics.observer("reprise_queue_wait_seconds", { model }).observe(Math.max(0, ms) / 1_000);
  }

  attemptEnded(model: string, result: AttemptResult): void {
    this.#metrics.counter("reprise_attempts_total").inc({ model, result });
  }

  /** @param result as the run has it; `error` where it has thrown */
  runEnded(model: string, result: string): void {
    this.#metrics.counter("reprise_runs_total").inc({ model, result });
  }

  /** A generation has ended in the log, by this worker. @param fault undefined where it is complete */
  generationEnded(fault: Fault | undefined): void {
    const status = fault === undefined ? "completed" : "failed";
    this.#metrics.counter("reprise_generations_ended_total").inc({ status, fault: fault ?? "none" });
  }

  timedOut(model: string, timeout: string): void {
    this.#metrics.counter("reprise_timeouts_total").inc({ model, timeout });
  }

  /** Starts the timing of one request to an engine. */
  turn(model: string, engine: string, onFirst?: (waitedMs: number) => void): TurnTiming {
    const labels = toLabels(model, engine);
    const metrics = this.#metrics;
    const observers = {
      firstChunk: metrics.observer("gen_ai_client_operation_time_to_first_chunk_seconds", labels),
      chunk: metrics.observer("gen_ai_client_operation_time_per_output_chunk_seconds", labels),
      token: metrics.observer("reprise_engine_time_per_output_token_seconds", { model, engine }),
      durationOf: (error: string) =>
        metrics.observer("gen_ai_client_operation_duration_seconds", { ...labels, error_type: error }),
    };
    return new TurnTiming(observers, onFirst);
  }

  /** Labels of one request to an engine. */
  tokens(model: string, engine: string): TokenObservers {
    const of = (type: "input" | "output") =>
      this.#metrics.observer("gen_ai_client_token_usage", {
        ...toLabels(model, engine),
        gen_ai_token_type: type,
      });
    return { input: of("input"), output: of("output") };
  }
}

function toLabels(model: string, engine: string) {
  return {
    gen_ai_operation_name: GEN_AI_OPERATION.chat,
    gen_ai_provider_name: providerOf(engine),
    gen_ai_request_model: model,
  };
}

const SIMULATOR = "sim";

/** An engine's name as the GenAI conventions have it. */
export function providerOf(engine: string): string {
  return engine === SIMULATOR ? `reprise.${SIMULATOR}` : engine;
}
