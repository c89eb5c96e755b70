import { connectBroker, ensureTopology } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import { createLogger, createMetrics, runService } from "@reprise/service";
import { createTenantDirectory, loadTenantsFile } from "@reprise/tenancy";
import { loadModelNames, parseDeliveryEnvironment } from "./config.ts";
import { startDelivery } from "./service.ts";

await runService("delivery", async () => {
  const env = parseDeliveryEnvironment(process.env);
  const { REPRISE_NATS_URL: natsUrls, REPRISE_TENANTS_FILE: tenantsFile } = env;
  if (!natsUrls || !tenantsFile) {
    throw new RepriseError("config_invalid", "delivery needs REPRISE_NATS_URL and REPRISE_TENANTS_FILE.");
  }
  const logger = createLogger({ service: "delivery", level: env.REPRISE_LOG_LEVEL });
  const tenants = createTenantDirectory(await loadTenantsFile(tenantsFile));
  const broker = await connectBroker({ url: natsUrls.join(","), name: "delivery" });
  await ensureTopology(broker.main, {
    shards: env.REPRISE_SHARDS,
    replicas: env.REPRISE_REPLICAS,
    retentionMs: env.REPRISE_RETENTION_HOURS * 3_600_000,
  });
  const delivery = await startDelivery({
    broker,
    tenants,
    models: await loadModelNames(env.REPRISE_MODELS_FILE),
    logger,
    metrics: createMetrics(),
    host: env.REPRISE_HOST,
    port: env.REPRISE_PORT,
    shards: env.REPRISE_SHARDS,
    hubBytes: env.REPRISE_HUB_MEMORY_MB * 1_024 * 1_024,
    corsOrigins: env.REPRISE_CORS_ORIGINS,
  });
  logger.info({ url: delivery.url }, "listening");
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    stop: async () => {
      await delivery.close();
      await broker.close();
    },
    reload: async () => tenants.reload(await loadTenantsFile(tenantsFile)),
  };
});
