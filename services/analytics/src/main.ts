import { lowerPriority, runService, startBrokerService } from "@reprise/runtime";
import { parseAnalyticsEnvironment } from "./config.ts";
import { loadPrices } from "./load-prices.ts";
import { startAnalytics } from "./service.ts";
import { openAnalyticsStorage } from "./storage.ts";
import { toUsageSinks } from "./usage.ts";

/** Readers wait for delivery, the workers and the broker, and for nothing that this process does. */
const NICE = 10;

await runService(
  "analytics",
  async () => {
    const env = parseAnalyticsEnvironment(process.env);
    await lowerPriority(env.REPRISE_NICE ?? NICE);
    const {
      REPRISE_SHARDS: shards,
      REPRISE_ANALYTICS_KEYS: keys = [],
      REPRISE_METRICS_TENANTS: metricTenants,
    } = env;
    const accessLog = env.REPRISE_ACCESS_LOG !== "off";
    const { store, dir, openRows } = openAnalyticsStorage(env);
    const sinks = toUsageSinks(env);
    const load = () => loadPrices(env.REPRISE_MODELS_FILE);
    let prices = await load();
    const usage = {
      sinks,
      isStreamed: env.REPRISE_USAGE_STREAM === "on",
      source: env.REPRISE_USAGE_SOURCE,
      priceOf: (model: string) => prices.get(model),
    };
    return startBrokerService("analytics", env, async (context) => ({
      service: await startAnalytics({
        ...context,
        shards,
        store,
        openRows,
        keys,
        usage,
        metricTenants,
        accessLog,
      }),
      does: "measuring",
      details: {
        rows: dir,
        usage: [...sinks.map(({ name }) => name), ...(usage.isStreamed ? ["stream"] : [])],
      },
      reload: async () => void (prices = await load()),
    }));
  },
  process.env,
);
