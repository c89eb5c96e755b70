import { connectBroker, ensureTopology } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import { createLogger, createMetrics, createOpsHandler, runService, startOpsServer } from "@reprise/service";
import { parseWorkerEnvironment } from "./config.ts";
import { createEngines, loadModelsFile } from "./models-file.ts";
import { startWorker } from "./service.ts";

await runService("inference-worker", async () => {
  const env = parseWorkerEnvironment(process.env);
  if (!env.REPRISE_NATS_URL)
    throw new RepriseError("config_invalid", "inference-worker needs REPRISE_NATS_URL.");
  const logger = createLogger({ service: "inference-worker", level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  const models = createEngines(
    await loadModelsFile(env.REPRISE_MODELS_FILE, process.env),
    env.REPRISE_WORKER_SLOTS,
  );
  const broker = await connectBroker({ url: env.REPRISE_NATS_URL.join(","), name: "inference-worker" });
  await ensureTopology(broker.main, {
    shards: env.REPRISE_SHARDS,
    replicas: env.REPRISE_REPLICAS,
    retentionMs: env.REPRISE_RETENTION_HOURS * 3_600_000,
  });
  const worker = await startWorker({ broker, models, ackWaitMs: env.REPRISE_ACK_WAIT_MS, logger, metrics });
  const { REPRISE_OPS_PORT: port, REPRISE_HOST: host } = env;
  const ops = createOpsHandler({ metrics, notReadyBecause: () => worker.notReadyBecause() });
  const opsServer = port === undefined ? undefined : await startOpsServer(ops, { host, port });
  logger.info({ worker: worker.id, models: [...models.keys()] }, "taking jobs");
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    stop: async () => {
      await worker.close();
      await opsServer?.close();
      await broker.close();
    },
  };
});
