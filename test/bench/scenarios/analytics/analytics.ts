import { openAnalyticsStorage, parseAnalyticsEnvironment, startAnalytics } from "@reprise/analytics-service";
import { connectBroker } from "@reprise/broker";
import { DEFAULT_TARGETS, encodeSketch, GenerationFold, GenerationSummary, Sketch } from "@reprise/facts";
import {
  asSeq,
  DEFAULT_POLICY,
  encodeEvent,
  type EventDraft,
  parseGenerationId,
  parseTenantId,
} from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { proseToken } from "../../measure/prose.ts";
import { SHARDS, startBenchBroker } from "../../targets/reprise/broker.ts";
import { fillBroker } from "../fill-broker.ts";
import type { RunContext } from "../run-context.ts";

export interface AnalyticsResult {
  readonly scenario: "ANALYTICS";
  readonly events: number;
  readonly generations: number;
  /** From the broker's disk to committed rows. */
  readonly eventsPerSecond: number;
  /** Of one core, of this process: the broker's own are not in it. */
  readonly cores: number;
  readonly eventsPerCoreSecond: number;
  readonly bytesPerRow: number;
  /** Events from memory into folds. */
  readonly foldsPerSecond: number;
  /** Rows from files into a summary. */
  readonly rowsPerSecond: number;
  /** How far each quantile of a sketch is from the one of a sorted list, in percent: the worst of several distributions. */
  readonly worstErrorPercent: Readonly<Record<string, number>>;
}

/** As the service has them, save that the last batches, which are not full, are not waited for. */
const LIMITS = { maxMessages: 20_000, maxAgeMs: 250, maxBytes: 16 * 1_024 * 1_024 };
const TENANTS = 10;
const POLL_MS = 20;
const FOLDED = 1_000_000;
const EVENTS_PER_FOLD = 200;
const ASKED_ROWS = 50_000;

/** ANALYTICS: how fast one process folds what has piled up in the broker into rows, how fast it answers from them, and how true its quantiles are. */
export async function runAnalytics({ settings, quick, signal, say }: RunContext): Promise<AnalyticsResult> {
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
    events,
    generations: refs.length,
    eventsPerSecond: events / (ms / 1_000),
    cores,
    eventsPerCoreSecond: events / (ms / 1_000) / cores,
    bytesPerRow: bytes / refs.length,
    foldsPerSecond: measureFolds(quick ? FOLDED / 5 : FOLDED),
    rowsPerSecond: asked / (askedMs / 1_000),
    worstErrorPercent: measureErrors(),
  };
}

function measureFolds(events: number): number {
  const ref = { tenant: parseTenantId("demo"), generation: parseGenerationId(`gen_0_${"0".repeat(26)}`) };
  const drafts: EventDraft[] = [
    {
      type: "generation.requested",
      ...ref,
      created_at: new Date(0).toISOString(),
      request: { model: "sim", input: "hello" },
      policy: DEFAULT_POLICY,
    },
    ...Array.from({ length: EVENTS_PER_FOLD - 2 }, (_, i): EventDraft => ({
      type: "output.delta",
      text: proseToken(1, i),
    })),
    {
      type: "generation.completed",
      finish_reason: "stop",
      usage: { input_tokens: 10, output_tokens: EVENTS_PER_FOLD - 2 },
    },
  ];
  const payloads = drafts.map((draft, i) => encodeEvent(asSeq(i), draft));
  const startedAt = performance.now();
  for (let folded = 0; folded < events; folded += payloads.length) {
    const fold = GenerationFold.begin(ref);
    for (const [i, payload] of payloads.entries()) fold.feed(payload, 1_000_000 + i * 20_000);
    fold.toRow();
  }
  return events / ((performance.now() - startedAt) / 1_000);
}

const SAMPLES = 200_000;
const QUANTILES = { p50: 0.5, p90: 0.9, p99: 0.99, p999: 0.999 };

/** Normal, log-normal and with two peaks: what latencies look like. In microseconds. */
function measureErrors(): Record<string, number> {
  let seed = 7;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const distributions = [
    () => 50_000 + 8_000 * normal(),
    () => Math.exp(11 + 0.8 * normal()),
    () => (random() < 0.7 ? 20_000 + 3_000 * normal() : 900_000 + 90_000 * normal()),
  ];
  const worst: Record<string, number> = {};
  for (const draw of distributions) {
    const values = Float64Array.from({ length: SAMPLES }, () => Math.max(1, Math.round(draw()))).toSorted();
    const sketch = new Sketch();
    for (const value of values) sketch.add(value);
    encodeSketch(sketch);
    for (const [name, q] of Object.entries(QUANTILES)) {
      const exact = values[Math.floor(q * (SAMPLES - 1))] ?? 0;
      const error = (Math.abs((sketch.quantile(q) ?? 0) - exact) / exact) * 100;
      worst[name] = Math.max(worst[name] ?? 0, error);
    }
  }
  return worst;
}
