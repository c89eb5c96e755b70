import { openBroker } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import { createLogger, createMetrics, runService, topologyOf } from "@reprise/service";
import { createTenantDirectory, loadTenantsFile } from "@reprise/tenancy";
import { loadModelNames, parseDeliveryEnvironment, toDeliverySettings } from "./config.ts";
import { startDelivery } from "./service.ts";

await runService("delivery", async () => {
  const env = parseDeliveryEnvironment(process.env);
  const { REPRISE_NATS_URL: natsUrls, REPRISE_TENANTS_FILE: tenantsFile } = env;
  if (!natsUrls || !tenantsFile) {
    throw new RepriseError("config_invalid", "delivery needs REPRISE_NATS_URL and REPRISE_TENANTS_FILE.");
  }
  const logger = createLogger({ service: "delivery", level: env.REPRISE_LOG_LEVEL });
  const loadFiles = () =>
    Promise.all([loadTenantsFile(tenantsFile), loadModelNames(env.REPRISE_MODELS_FILE)]);
  const [tenancy, models] = await loadFiles();
  const tenants = createTenantDirectory(tenancy);
  const metrics = createMetrics();

  await using stack = new AsyncDisposableStack();
  const broker = stack.use(
    await openBroker({ url: natsUrls.join(","), name: "delivery", ...topologyOf(env) }),
  );
  const settings = toDeliverySettings(env);
  const delivery = stack.use(await startDelivery({ broker, tenants, models, logger, metrics, ...settings }));
  logger.info({ url: delivery.url }, "listening");
  const running = stack.move();
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    stop: () => running.disposeAsync(),
    async reload() {
      const [nextTenancy, names] = await loadFiles();
      tenants.reload(nextTenancy);
      delivery.setModels(names);
    },
  };
});
