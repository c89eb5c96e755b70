import { runService, startBrokerService } from "@reprise/service";
import { assertKnownClassifiers, createTenantDirectory, loadTenantsFile } from "@reprise/tenancy";
import {
  DRAIN_NOTICE_MS,
  loadClassifierNames,
  loadModelNames,
  parseDeliveryEnvironment,
  toDeliverySettings,
} from "./config.ts";
import { startDelivery } from "./service.ts";

await runService(
  "delivery",
  async () => {
    const env = parseDeliveryEnvironment(process.env);
    const load = async () => {
      const [tenancy, models, classifiers] = await Promise.all([
        loadTenantsFile(env.REPRISE_TENANTS_FILE),
        loadModelNames(env.REPRISE_MODELS_FILE),
        loadClassifierNames(env.REPRISE_CLASSIFIERS_FILE),
      ]);
      if (classifiers) assertKnownClassifiers(tenancy, classifiers, env.REPRISE_TENANTS_FILE);
      return { tenancy, names: { models, classifiers } };
    };
    const { tenancy, names } = await load();
    const tenants = createTenantDirectory(tenancy);
    return startBrokerService("delivery", env, async (context) => {
      const delivery = await startDelivery({ ...context, ...toDeliverySettings(env), tenants, ...names });
      return {
        service: delivery,
        does: "listening",
        details: { url: delivery.url },
        announceStop: () => delivery.announceStop(),
        noticeMs: env.REPRISE_DRAIN_NOTICE_MS ?? DRAIN_NOTICE_MS,
        async reload() {
          const next = await load();
          tenants.reload(next.tenancy);
          delivery.setNames(next.names);
        },
      };
    });
  },
  process.env,
);
