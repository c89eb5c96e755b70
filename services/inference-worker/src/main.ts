import { openBroker } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import {
  createLogger,
  createMetrics,
  createOpsHandler,
  runService,
  startOpsServer,
  topologyOf,
} from "@reprise/service";
import { parseWorkerEnvironment } from "./config.ts";
import { loadEngines } from "./create-engines.ts";
import { startWorker } from "./service.ts";

await runService("inference-worker", async () => {
  const env = parseWorkerEnvironment(process.env);
  const { REPRISE_NATS_URL: natsUrls, REPRISE_OPS_PORT: port, REPRISE_HOST: host } = env;
  if (!natsUrls) throw new RepriseError("config_invalid", "inference-worker needs REPRISE_NATS_URL.");
  const logger = createLogger({ service: "inference-worker", level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  const models = await loadEngines(env, process.env);

  await using stack = new AsyncDisposableStack();
  const broker = stack.use(
    await openBroker({ url: natsUrls.join(","), name: "inference-worker", ...topologyOf(env) }),
  );
  const worker = stack.use(
    await startWorker({ broker, models, ackWaitMs: env.REPRISE_ACK_WAIT_MS, logger, metrics }),
  );
  const ops = createOpsHandler({ metrics, notReadyBecause: () => worker.notReadyBecause() });
  const opsServer = port === undefined ? undefined : stack.use(await startOpsServer(ops, { host, port }));
  logger.info({ worker: worker.id, models: [...models.keys()], ops: opsServer?.url }, "taking jobs");
  const running = stack.move();
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    stop: () => running.disposeAsync(),
    reload: async () => worker.reload(await loadEngines(env, process.env)),
  };
});
