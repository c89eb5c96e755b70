import {
  type BrokerServiceContext,
  opsAddressBesideApi,
  runService,
  startBrokerService,
} from "@reprise/runtime";
import {
  assertKnownClassifiers,
  loadTenantsFile,
  openTenants,
  reportRefusedRecord,
  tenantsSourceOf,
} from "@reprise/tenancy";
import {
  DRAIN_NOTICE_MS,
  loadClassifierNames,
  loadModelNames,
  loadServedModels,
  parseDeliveryEnvironment,
  toDeliverySettings,
} from "./config.ts";
import { loadModelCosts } from "./limits/model-prices.ts";
import { startDelivery } from "./service.ts";

await runService(
  "delivery",
  async () => {
    const env = parseDeliveryEnvironment(process.env);
    const { REPRISE_TENANTS_FILE: file, REPRISE_OPERATOR_KEY_SHA256: operatorKeySha256 } = env;
    const source = tenantsSourceOf(env);
    const load = async () => {
      const [tenancy, models, costs, served, classifiers] = await Promise.all([
        file === undefined ? undefined : loadTenantsFile(file),
        loadModelNames(env.REPRISE_MODELS_FILE),
        loadModelCosts(env.REPRISE_MODELS_FILE),
        loadServedModels(env.REPRISE_MODELS_FILE),
        loadClassifierNames(env.REPRISE_CLASSIFIERS_FILE),
      ]);
      if (tenancy && classifiers) assertKnownClassifiers(tenancy, classifiers, file ?? "");
      return { tenancy, names: { models, costs, served, classifiers } };
    };
    const { tenancy, names } = await load();
    const start = async (context: BrokerServiceContext) => {
      const { broker, brokerWatch, logger } = context;
      await using stack = new AsyncDisposableStack();
      const onRefused = reportRefusedRecord(logger);
      const tenants = stack.use(
        await openTenants({ broker, source, onRefused, onStale: brokerWatch.onStale }),
      );
      const apply = async (next: typeof tenancy) => {
        if (next) logger.info({ source, ...(await tenants.apply(next)) }, "tenants file applied");
      };
      await apply(tenancy);
      const delivery = stack.use(
        await startDelivery({
          ...context,
          ...toDeliverySettings(env),
          tenants: tenants.directory,
          administration: { ...tenants, operatorKeySha256 },
          ...names,
        }),
      );
      const running = stack.move();
      return {
        service: {
          notReadyBecause: () => delivery.notReadyBecause(),
          [Symbol.asyncDispose]: () => running.disposeAsync(),
        },
        does: "listening",
        details: { url: delivery.url, grpc_port: delivery.grpcPort },
        announceStop: () => delivery.announceStop(),
        noticeMs: env.REPRISE_DRAIN_NOTICE_MS ?? DRAIN_NOTICE_MS,
        async reload() {
          const next = await load();
          await apply(next.tenancy);
          delivery.setNames(next.names);
        },
      };
    };
    return startBrokerService("delivery", env, start, opsAddressBesideApi(env));
  },
  process.env,
);
