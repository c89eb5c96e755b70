import { randomUUID } from "node:crypto";
import { pause } from "@reprise/async";
import * as blobs from "@reprise/blobs";
import { answerHolderQueries, type Job, JobMemory, pullJobs } from "@reprise/jobs";
import { type Broker, watchConnection } from "@reprise/broker";
import { AppendPressure, createGenerationLog, subscribeYieldRequests } from "@reprise/stream";
import {
  CAPABILITIES,
  type GenerationId,
  parseWorkerId,
  type TenantId,
  type WorkerId,
} from "@reprise/protocol";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { type BudgetLedger, budgetMetricsOf, openShared } from "@reprise/tenancy";
import {
  createErrorLog,
  DependencyWatches,
  type Logger,
  type Metrics,
  observeLog,
  WatchGroup,
  watchRedis,
} from "@reprise/runtime";
import { type EngineReport, logEngineReport } from "./run/turn/engine-report.ts";
import type { Engine } from "./engines/engine.ts";
import { ModelQueues, type ServedModel } from "./model-queues.ts";
import { createInputJudge } from "./run/turn/input-gate.ts";
import { ReplicaReports } from "./run/metrics/replica-reports.ts";
import { WorkerMetrics } from "./run/metrics/worker-metrics.ts";
import type { RunResult } from "./run/run-context.ts";
import { runGeneration } from "./run/run-generation.ts";
import type { RunLog } from "./run/log/run-log.ts";

export type { Engine } from "./engines/engine.ts";
export type { ServedModel } from "./model-queues.ts";
export { createEngines, loadEngines } from "./config/create-engines.ts";
export { toWorkerSettings } from "./config/config.ts";
export { parseModelsFile } from "./config/models-file.ts";

const FIRST_LEARN_PAUSE_MS = 1_000;
const LONGEST_LEARN_PAUSE_MS = 60_000;

export interface WorkerOptions {
  broker: Broker;
  /** The dependencies of this worker: a failure that the absence of one explains is not logged. Default: its own dependencies. */
  watches?: DependencyWatches;
  /** By public model name. */
  models: ReadonlyMap<string, ServedModel>;
  /** After how long without a heartbeat a job goes to another worker. */
  ackWaitMs: number;
  /** Memory for the requests of active generations, in bytes: while it is used up, no more jobs are taken. Default 256 MiB. */
  memoryBytes?: number;
  /** Where model servers reach delivery, for models whose media are links. Default: they don't. */
  mediaUrl?: string | undefined;
  /** Redis for the tenants' budgets, shared by all processes. Default: the process counts alone. */
  redisUrl?: string | undefined;
  /** The number of tenants that metrics name. Default 100. */
  metricTenants?: number;
  /** The ledger of the process, if the worker shares it with delivery. Default: that of Redis, or its own. */
  ledger?: BudgetLedger | undefined;
  logger: Logger;
  metrics: Metrics;
  /** Default: off. */
  tracing?: Tracing;
}

export interface Worker extends AsyncDisposable {
  /** The worker's id in `generation.started`. */
  readonly id: WorkerId;
  /** Why it can't take jobs now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Serves these models from now on. Active runs keep their engine, which is closed after them. */
  reload(models: ReadonlyMap<string, ServedModel>): Promise<void>;
  /** Takes no more jobs, hands those that run over to other workers, and closes. */
  close(): Promise<void>;
}

const MEMORY_BYTES = 256 * 1_024 * 1_024;
const SLOTS_PER_RESERVED = 8;
const ENGINE_HOLD_OFF_MS = 60_000;

/** Starts to work off the queues of all models. The broker's streams must exist. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { broker, models, ackWaitMs, memoryBytes = MEMORY_BYTES, logger, metrics } = options;
  const { watches = new DependencyWatches({ service: "inference-worker", logger, metrics }) } = options;
  const onError = createErrorLog({
    logger,
    waits: "the worker waits",
    failed: "a callback failed",
    watches,
    metrics,
  });
  const log = createGenerationLog(broker, { observer: observeLog(metrics, "inference-worker") });
  await using stack = new AsyncDisposableStack();
  const worker = parseWorkerId(`worker-${randomUUID()}`);
  const ledger =
    options.ledger ??
    stack.use(
      await openShared({
        redisUrl: options.redisUrl,
        kind: "worker",
        process: worker,
        ...watchRedis(watches, {
          redisUrl: options.redisUrl,
          alone: "this worker grants its share of each budget",
          together: "budgets are counted over all processes",
        }),
      }),
    ).ledger;
  const budgetMetrics = budgetMetricsOf(metrics, options.metricTenants);
  const engines = new WatchGroup(watches, (model) => ({
    name: `engine:${model}`,
    gone: "an engine takes no requests",
    back: "an engine takes requests again",
    fields: { model },
    reports: "each",
    // An engine that is busy refuses some requests while it answers others.
    holdOffMs: ENGINE_HOLD_OFF_MS,
  }));
  engines.keep(engineNames(models));
  const replicas = new ReplicaReports(watches, metrics);
  replicas.serve(models);
  const handover = new AbortController();
  const running = new Map<GenerationId, RunLog>();
  let connectedAtMs = Number.NEGATIVE_INFINITY;
  const workerMetrics = new WorkerMetrics(metrics);
  const context = {
    connection: broker.main,
    reads: broker.reads,
    log,
    media: {
      storage: blobs.createBlobStorage({ broker, publish: log.publish, budgetMs: () => 0 }),
      url: options.mediaUrl,
    },
    output: blobs.createBlobStorage({ broker, publish: log.publish, budgetMs: () => log.budgetMs }),
    inputJudge: createInputJudge(broker.main),
    worker,
    ackWaitMs,
    ledger: budgetMetrics.watch(ledger),
    onCutOff: (tenant: TenantId) => budgetMetrics.cutOff(tenant),
    tracing: options.tracing ?? NO_TRACING,
    metrics: workerMetrics,
    onError,
    onEngineReport: (report: EngineReport) => logEngineReport(logger, report, engines.of(report.model)),
    onEngineAnswered: (model: string) => engines.of(model).worked(),
    handover: handover.signal,
    running,
    pressure: new AppendPressure(),
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
  const run = async (job: Job, model: ServedModel) => {
    runs.inc();
    let result: RunResult | "error" = "error";
    try {
      result = await runGeneration(context, job, model);
      logger.debug({ generation: job.ref.generation, deliveries: job.deliveries, result }, "a run has ended");
    } finally {
      workerMetrics.runEnded(job.model, result);
      runs.dec();
    }
  };

  const slotSeconds = metrics.counter("reprise_slot_seconds_total");
  const memory = new JobMemory(memoryBytes);
  metrics.observe("reprise_job_bytes", () => memory.held);
  const serve = (served: ServedModel, model: string) => {
    for (const { engine } of served.fallback ? [served, served.fallback] : [served])
      void learnCapabilities(engine, handover.signal);
    return pullJobs({
      connection: broker.bulk,
      model,
      slots: served.slots,
      reserve: served.reserve ?? Math.floor(served.slots / SLOTS_PER_RESERVED),
      memory,
      ackWaitMs,
      capabilities: () => [...(served.engine.capabilities ?? CAPABILITIES)],
      contextTokens: () => served.engine.contextTokens,
      run: (job) => run(job, served),
      onSlotTime: (ms) => slotSeconds.inc({ model }, ms / 1_000),
      onError,
    });
  };
  const queues = await ModelQueues.open(models, serve);
  metrics.observeEach("reprise_slots", () => queues.slots((_, { slots }) => slots));
  metrics.observeEach("reprise_slots_used", () => queues.slots(({ slotsUsed }) => slotsUsed));
  const opened = stack.move();
  const close = async () => {
    handover.abort();
    await queues.close();
    stopAnswering();
    yieldRequests.unsubscribe();
    await opened.disposeAsync();
  };
  const notReadyBecause = () => [
    ...(handover.signal.aborted ? ["draining"] : []),
    ...(log.connected ? [] : ["not connected to NATS"]),
  ];
  return {
    id: worker,
    notReadyBecause,
    async reload(next) {
      await queues.replace(next);
      engines.keep(engineNames(next));
      replicas.serve(next);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the names of all engines, fallbacks included. */
function engineNames(models: ReadonlyMap<string, ServedModel>): string[] {
  return [...models].flatMap(([model, { fallback }]) => (fallback ? [model, fallback.model] : [model]));
}

/** Asks an engine what its model can do until it has said so, or the signal is aborted. */
async function learnCapabilities(engine: Engine, signal: AbortSignal): Promise<void> {
  if (!engine.learn) return;
  for (
    let waitMs = FIRST_LEARN_PAUSE_MS;
    !signal.aborted;
    waitMs = Math.min(2 * waitMs, LONGEST_LEARN_PAUSE_MS)
  ) {
    if (await engine.learn(signal)) return;
    await pause(waitMs, signal);
  }
}
