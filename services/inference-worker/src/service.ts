import { randomUUID } from "node:crypto";
import {
  answerHolderQueries,
  type Broker,
  createGenerationLog,
  type Job,
  JobMemory,
  pullJobs,
  subscribeYieldRequests,
  watchConnection,
} from "@reprise/log";
import { type GenerationId, parseWorkerId, type WorkerId } from "@reprise/protocol";
import { type BrokerWatch, createErrorLog, type Logger, type Metrics } from "@reprise/service";
import { type EngineReport, logEngineReport } from "./run/turn/engine-report.ts";
import { ModelQueues, type ServedModel } from "./model-queues.ts";
import { runGeneration } from "./run/run-generation.ts";
import type { RunLog } from "./run/log/run-log.ts";

export type { Engine } from "./engines/engine.ts";
export type { ServedModel } from "./model-queues.ts";
export { createEngines, loadEngines } from "./config/create-engines.ts";
export { toWorkerSettings } from "./config/config.ts";
export { parseModelsFile } from "./config/models-file.ts";

export interface WorkerOptions {
  broker: Broker;
  /** Whether the broker takes appends: what its absence holds up is not logged. */
  brokerWatch?: BrokerWatch;
  /** By public model name. */
  models: ReadonlyMap<string, ServedModel>;
  /** After how long without a heartbeat a job goes to another worker. */
  ackWaitMs: number;
  /** What the requests of generations that run may take, in bytes: while it is used up no more jobs are taken. Default 256 MiB. */
  memoryBytes?: number;
  logger: Logger;
  metrics: Metrics;
}

export interface Worker extends AsyncDisposable {
  /** What `generation.started` calls it. */
  readonly id: WorkerId;
  /** Why it can't take jobs now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Serves these models from now on. What runs goes on with the engine that it began with, which is closed after it. */
  reload(models: ReadonlyMap<string, ServedModel>): Promise<void>;
  /** Takes no more jobs, hands those that run over to other workers, and closes. */
  close(): Promise<void>;
}

const MEMORY_BYTES = 256 * 1_024 * 1_024;
const SLOTS_PER_RESERVED = 8;

/** Starts to work off the queues of all models. The broker's streams must exist. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { broker, brokerWatch, models, ackWaitMs, memoryBytes = MEMORY_BYTES, logger, metrics } = options;
  const onError = createErrorLog({
    logger,
    waits: "the worker waits",
    failed: "a callback failed",
    brokerWatch,
    metrics,
  });
  const log = createGenerationLog(broker);
  const worker = parseWorkerId(`worker-${randomUUID()}`);
  const handover = new AbortController();
  const running = new Map<GenerationId, RunLog>();
  let connectedAtMs = Number.NEGATIVE_INFINITY;
  const context = {
    connection: broker.main,
    log,
    worker,
    ackWaitMs,
    onError,
    onEngineReport: (report: EngineReport) => logEngineReport(logger, report),
    handover: handover.signal,
    running,
    connectedAtMs: () => connectedAtMs,
  };
  const stopAnswering = answerHolderQueries(broker.main, worker, (generation) => running.has(generation));
  const yieldRequests = subscribeYieldRequests(broker.main, {
    onRequest({ tenant, generation }) {
      const run = running.get(generation);
      if (run?.ref.tenant === tenant) run.appender.yield();
    },
    onError,
  });
  // The live feed comes over `main`, the log is read over `reads`, and either may be back first.
  const sync = () => {
    for (const run of running.values()) run.appender.sync();
  };
  watchConnection(broker.main, {
    onDown() {
      connectedAtMs = Number.POSITIVE_INFINITY;
    },
    onUp() {
      connectedAtMs = performance.now();
      sync();
    },
  });
  watchConnection(broker.reads, { onUp: sync });

  const runs = metrics.gauge("reprise_generations_running");
  const ended = metrics.counter("reprise_generations_ended_total");
  const run = async (job: Job, model: ServedModel) => {
    runs.inc();
    try {
      const result = await runGeneration(context, job, model);
      if (result === "completed" || result === "failed") ended.inc({ status: result });
      logger.debug({ generation: job.ref.generation, deliveries: job.deliveries, result }, "a run has ended");
    } finally {
      runs.dec();
    }
  };

  const memory = new JobMemory(memoryBytes);
  metrics.observe("reprise_job_bytes", () => memory.held);
  const serve = (served: ServedModel, model: string) =>
    pullJobs({
      connection: broker.bulk,
      model,
      slots: served.slots,
      reserve: served.reserve ?? Math.floor(served.slots / SLOTS_PER_RESERVED),
      memory,
      ackWaitMs,
      run: (job) => run(job, served),
      onError,
    });
  const queues = await ModelQueues.open(models, serve);
  const close = async () => {
    handover.abort();
    await queues.close();
    stopAnswering();
    yieldRequests.unsubscribe();
  };
  const notReadyBecause = () => [
    ...(handover.signal.aborted ? ["draining"] : []),
    ...(log.connected ? [] : ["not connected to NATS"]),
  ];
  return {
    id: worker,
    notReadyBecause,
    reload: (next) => queues.replace(next),
    close,
    [Symbol.asyncDispose]: close,
  };
}
