import { startChild } from "../children/child.ts";
import { FIRST_TERMS, type FirstMeasured, type FirstOrder, type FirstTerm } from "../load/first-terms.ts";
import { startLoadClient } from "../load/load-client.ts";
import { type Samples, summarize } from "../measure/samples.ts";
import { NEEDS_REDIS, type TargetName } from "../targets/all.ts";
import { startBenchRedis } from "../targets/bench-redis.ts";
import { SHARDS } from "../targets/reprise/broker.ts";
import { type BenchPlatform, startPlatform } from "../targets/reprise/platform.ts";
import { createTarget, type RunningTarget } from "../targets/target.ts";
import { measureStream } from "./measure-stream.ts";
import type { RunContext } from "./run-context.ts";

/** Milliseconds. */
export interface FirstRow {
  readonly target: TargetName;
  readonly isLoaded: boolean;
  /** A create that does nothing else. */
  readonly create: Samples;
  /** Create to first delta, in one call. */
  readonly first: Samples;
  /** Medians; none for peers. */
  readonly terms: Readonly<Partial<Record<FirstTerm, number>>>;
}

export interface FirstResult {
  readonly scenario: "FIRST";
  readonly calls: number;
  readonly rows: readonly FirstRow[];
}

/** The others can't create and stream in one call. */
const PEERS: ReadonlyMap<TargetName, URL> = new Map([
  ["floor", new URL("../targets/floor/first.ts", import.meta.url)],
  ["resumable-stream", new URL("../targets/resumable-stream/first.ts", import.meta.url)],
]);
const GAP_MS = 25;
const S1 = { streams: 100, tokensPerSecond: 50, readersPerStream: 1, warmUpSeconds: 1 };

/** FIRST: from a create to its first token in one call, on an idle machine and beside S1's load, with an engine that answers at once. */
export async function runFirst(context: RunContext): Promise<FirstResult> {
  const { targets, quick, settings, say } = context;
  const calls = quick ? 40 : 200;
  const rows: FirstRow[] = [];
  for (const [target, script] of PEERS) {
    if (!targets.includes(target)) continue;
    say(`FIRST ${target}`);
    rows.push(toRow(target, await measurePeer({ target, script, calls }, context)));
  }
  if (targets.includes("reprise")) {
    say("FIRST reprise");
    await using platform = await startPlatform(settings);
    rows.push(toRow("reprise", await measure(toOrder(platform, calls))));
    say("FIRST reprise, beside S1's load");
    rows.push({ ...toRow("reprise", await measureLoaded(platform, calls, context)), isLoaded: true });
  }
  return { scenario: "FIRST", calls, rows };
}

async function measurePeer(
  { target, script, calls }: { target: TargetName; script: URL; calls: number },
  { settings }: RunContext,
): Promise<FirstMeasured> {
  await using stack = new AsyncDisposableStack();
  const env = NEEDS_REDIS.has(target)
    ? { REDIS_URL: stack.use(await startBenchRedis(settings.redis)).url }
    : undefined;
  const server = stack.use(await startChild({ name: target, script, ...(env && { env }) }));
  const url = `http://127.0.0.1:${await server.call<number>("listen")}`;
  return await measure({ url, apiKey: "", tenant: "", shards: SHARDS, calls, gapMs: GAP_MS });
}

/** The calls go on for as long as they take; the load lasts a little longer. */
async function measureLoaded(
  platform: BenchPlatform,
  calls: number,
  { signal }: RunContext,
): Promise<FirstMeasured> {
  await using load = await startLoadClient();
  await using target = await startProducing(platform);
  const seconds = Math.ceil((calls * 2 * (GAP_MS + 25)) / 1e3) + 2;
  const stream = measureStream(target, load, { ...S1, seconds }, signal);
  const [measured] = await Promise.all([measure(toOrder(platform, calls)), stream]);
  return measured;
}

/** A second worker on the platform's broker, which appends on schedule. */
async function startProducing(platform: BenchPlatform): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { broker, tenant, url, apiKey } = platform;
  const producer = stack.use(
    await startChild({
      name: "producer",
      script: new URL("../targets/reprise/worker.ts", import.meta.url),
      args: [tenant, String(SHARDS)],
      env: { REPRISE_NATS_URL: broker.urlFor("inference-worker") },
    }),
  );
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  return createTarget({
    processes: platform.processes,
    deliveryRole: "delivery",
    producer,
    readerOf: (id) => ({ transport: "sse", port, path: `/v1/generations/${id}/events`, headers }),
    stack: stack.move(),
  });
}

async function measure(order: FirstOrder): Promise<FirstMeasured> {
  await using client = await startChild({
    name: "first client",
    script: new URL("../load/first-client.ts", import.meta.url),
  });
  return await client.call<FirstMeasured>("measure", order);
}

function toOrder({ url, apiKey, tenant, broker }: BenchPlatform, calls: number): FirstOrder {
  return { url, apiKey, tenant, natsUrl: broker.urlFor("admin"), shards: SHARDS, calls, gapMs: GAP_MS };
}

function toRow(target: TargetName, { creates, firsts, terms }: FirstMeasured): FirstRow {
  const medians = FIRST_TERMS.flatMap((term) =>
    terms[term].length > 0 ? [[term, summarize(terms[term]).p50] as const] : [],
  );
  return {
    target,
    isLoaded: false,
    create: summarize(creates),
    first: summarize(firsts),
    terms: Object.fromEntries(medians),
  };
}
