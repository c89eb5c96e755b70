import { openAnalyticsStorage, parseAnalyticsEnvironment, startAnalytics } from "@reprise/analytics-service";
import { connectBroker } from "@reprise/broker";
import { DEFAULT_TARGETS, GenerationSummary } from "@reprise/facts";
import { createLogger, createMetrics } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { SHARDS, startBenchBroker } from "../targets/reprise/broker.ts";
import { fillBroker } from "./fill-broker.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

/** The service's limits, but without a wait for the last batches, which are not full. */
const LIMITS = { maxMessages: 20_000, maxAgeMs: 250, maxBytes: 16 * 1_024 * 1_024 };
const TENANTS = 10;
const POLL_MS = 20;
const ASKED_ROWS = 50_000;

/** ANALYTICS: one process folds the broker's backlog into rows, and answers from them. */
export async function runAnalytics({ settings, quick, signal, say }: RunContext): Promise<ScenarioResult> {
  const metrics = createMetrics({ processMetrics: false });
  say("ANALYTICS: storing events");
  await using bench = await startBenchBroker(settings.natsServer);
  await using dir = await createTempDir("bench-analytics");
  await using broker = await connectBroker({ url: bench.urlFor("admin"), name: "bench-analytics" });
  const wanted = { events: quick ? 200_000 : 1_000_000, tenants: TENANTS };
  const { refs, events } = await fillBroker(broker, wanted, signal);

  say("ANALYTICS: folding");
  const env = parseAnalyticsEnvironment({ REPRISE_NATS_URL: bench.server.url, REPRISE_DATA_DIR: dir.path });
  const storage = openAnalyticsStorage(env);
  const rows = metrics.counter("reprise_analytics_rows_total");
  const rowsCounted = async () => (await rows.get()).values.reduce((sum, { value }) => sum + value, 0);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const analytics = await startAnalytics({
    broker,
    shards: SHARDS,
    ...storage,
    keys: ["team"],
    limits: LIMITS,
    logger: createLogger({ service: "bench", level: "error" }),
    metrics,
  });
  try {
    while ((await rowsCounted()) < refs.length) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await analytics.close();
  }
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const cores = (user + system) / 1_000 / ms;
  let bytes = 0;
  for await (const object of storage.store.list("generations/")) bytes += object.bytes;

  say("ANALYTICS: asking");
  await using source = await storage.openRows();
  const all = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
  const sumUp = () => source.read(all, () => new GenerationSummary(DEFAULT_TARGETS));
  // The first question starts DuckDB.
  await sumUp();
  const askedAt = performance.now();
  let asked = 0;
  for (; asked < ASKED_ROWS;) asked += (await sumUp()).generations;
  const askedMs = performance.now() - askedAt;
  if (asked % refs.length !== 0)
    throw new Error(`${asked} rows are not those of ${refs.length} generations.`);

  return {
    scenario: "ANALYTICS",
    what: `${events} events of ${refs.length} generations, from the broker into committed rows`,
    rows: [
      {
        eventsPerSecond: events / (ms / 1_000),
        cores,
        eventsPerCoreSecond: events / (ms / 1_000) / cores,
        bytesPerRow: bytes / refs.length,
        rowsReadPerSecond: asked / (askedMs / 1_000),
      },
    ],
  };
}
