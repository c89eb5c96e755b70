import { randomUUID } from "node:crypto";
import {
  type Appender,
  type Broker,
  createGenerationLog,
  type Job,
  type Puller,
  pullJobs,
  watchConnection,
} from "@reprise/log";
import { parseWorkerId, type WorkerId } from "@reprise/protocol";
import type { Logger, Metrics } from "@reprise/service";
import type { Engine } from "./engines/engine.ts";
import { runGeneration } from "./run-generation.ts";
import { watchStalls } from "./stall-watch.ts";

export { parseWorkerEnvironment, type WorkerEnvironment } from "./config.ts";
export type { Engine } from "./engines/engine.ts";
export { createEngines, loadModelsFile, parseModelsFile } from "./models-file.ts";

/** One model's engine, and how many generations of it this worker runs at a time. */
export interface ServedModel {
  readonly engine: Engine;
  readonly slots: number;
}

export interface WorkerOptions {
  broker: Broker;
  /** By public model name. */
  models: ReadonlyMap<string, ServedModel>;
  /** After how long without a sign of life a job goes to another worker. */
  ackWaitMs: number;
  logger: Logger;
  metrics: Metrics;
}

export interface Worker extends AsyncDisposable {
  /** What `generation.started` calls it. */
  readonly id: WorkerId;
  /** Why it can't take jobs now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Takes no more jobs, hands those that run over to other workers, and closes. */
  close(): Promise<void>;
}

/** Starts to work off the queues of all models. The broker's streams must exist. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { broker, models, ackWaitMs, logger, metrics } = options;
  const onError = (error: unknown) => logger.error({ err: error }, "a callback failed");
  const log = createGenerationLog(broker, onError);
  const worker = parseWorkerId(`worker-${randomUUID()}`);
  const handover = new AbortController();
  const appenders = new Set<Appender>();
  const context = {
    connection: broker.main,
    log,
    worker,
    ackWaitMs,
    onError,
    handover: handover.signal,
    appenders,
  };
  watchConnection(broker.main, { onUp: () => appenders.forEach((appender) => appender.sync()) });

  const stalls = watchStalls(broker.main, ackWaitMs / 2);

  const running = metrics.gauge("reprise_generations_running");
  const ended = metrics.counter("reprise_generations_ended_total");
  const run = async (job: Job, engine: Engine) => {
    // Unanswered, it comes back after the ack wait, if it is nobody else's.
    if (stalls.doubtful) return;
    running.inc();
    try {
      const result = await runGeneration(context, job, engine);
      ended.inc({ status: result });
      logger.debug({ generation: job.ref.generation, result }, "a run has ended");
    } finally {
      running.dec();
    }
  };

  const pullers: Puller[] = await Promise.all(
    [...models].map(([model, { engine, slots }]) =>
      pullJobs({ connection: broker.main, model, slots, ackWaitMs, run: (job) => run(job, engine), onError }),
    ),
  );
  const close = async () => {
    for (const puller of pullers) puller.stop();
    handover.abort();
    stalls[Symbol.dispose]();
    await Promise.all(pullers.map((puller) => puller.idle()));
    await Promise.all([...models.values()].map(({ engine }) => engine.close()));
    log.close();
  };
  const notReadyBecause = () => [
    ...(handover.signal.aborted ? ["draining"] : []),
    ...(log.connected ? [] : ["not connected to NATS"]),
  ];
  return { id: worker, notReadyBecause, close, [Symbol.asyncDispose]: close };
}
