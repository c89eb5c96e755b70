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
import { loadClassifiers } from "./load-classifiers.ts";
import { parseModerationEnvironment } from "./config.ts";
import { startModeration } from "./service.ts";

await runService("moderation", async () => {
  const env = parseModerationEnvironment(process.env);
  const { REPRISE_NATS_URL: natsUrls, REPRISE_OPS_PORT: port, REPRISE_HOST: host } = env;
  if (!natsUrls) throw new RepriseError("config_invalid", "moderation needs REPRISE_NATS_URL.");
  const logger = createLogger({ service: "moderation", level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  const classifiers = await loadClassifiers(env, process.env);

  await using stack = new AsyncDisposableStack();
  const topology = topologyOf(env);
  const broker = stack.use(await openBroker({ url: natsUrls.join(","), name: "moderation", ...topology }));
  const moderation = stack.use(
    await startModeration({ broker, shards: topology.shards, classifiers, logger, metrics }),
  );
  const ops = createOpsHandler({ metrics, notReadyBecause: () => moderation.notReadyBecause() });
  const opsServer = port === undefined ? undefined : stack.use(await startOpsServer(ops, { host, port }));
  logger.info({ classifiers: [...classifiers.keys()], ops: opsServer?.url }, "judging");
  const running = stack.move();
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    stop: () => running.disposeAsync(),
    reload: async () => moderation.reload(await loadClassifiers(env, process.env)),
  };
});
