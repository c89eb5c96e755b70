import { startChild } from "../children/child.ts";
import type { FirstMeasured, FirstOrder } from "../load/first-client.ts";
import { startLoadClient } from "../load/load-client.ts";
import { NEEDS_REDIS, type TargetName } from "../targets/all.ts";
import { startBenchRedis } from "../targets/bench-redis.ts";
import { type BenchPlatform, startPlatform } from "../targets/reprise/platform.ts";
import { startWorker } from "../targets/reprise/target.ts";
import { createTarget, type RunningTarget } from "../targets/target.ts";
import { measureStream, s1Shape } from "./measure-stream.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

/** The others can't create and stream in one call. */
const PEERS: ReadonlyMap<TargetName, URL> = new Map([
  ["floor", new URL("../targets/floor/first.ts", import.meta.url)],
  ["resumable-stream", new URL("../targets/resumable-stream/first.ts", import.meta.url)],
]);
const GAP_MS = 25;

/** FIRST: from a create to its first token in one call, on an idle machine and beside S1's load, with an engine that answers at once. */
export async function runFirst(context: RunContext): Promise<ScenarioResult> {
  const { targets, quick, settings, say } = context;
  const calls = quick ? 40 : 200;
  const rows: object[] = [];
  for (const [target, script] of PEERS) {
    if (!targets.includes(target)) continue;
    say(`FIRST ${target}`);
    await using stack = new AsyncDisposableStack();
    const env = NEEDS_REDIS.has(target)
      ? { REDIS_URL: stack.use(await startBenchRedis(settings.redis)).url }
      : {};
    const server = stack.use(await startChild({ name: target, script, env }));
    const url = `http://127.0.0.1:${await server.call<number>("listen")}`;
    rows.push({ target, ...(await measure({ url, apiKey: "", calls, gapMs: GAP_MS })) });
  }
  if (targets.includes("reprise")) {
    say("FIRST reprise");
    await using platform = await startPlatform(settings);
    const { url, apiKey } = platform;
    const order = { url, apiKey, calls, gapMs: GAP_MS };
    rows.push({ target: "reprise", ...(await measure(order)) });
    say("FIRST reprise, beside S1's load");
    rows.push({ target: "reprise, loaded", ...(await measureLoaded(platform, order, context)) });
  }
  return { scenario: "FIRST", what: `${calls} creates, each answered with its stream`, rows };
}

/** The load lasts a little longer than the calls. */
async function measureLoaded(
  platform: BenchPlatform,
  order: FirstOrder,
  context: RunContext,
): Promise<FirstMeasured> {
  await using load = await startLoadClient();
  await using target = await startProducing(platform);
  const seconds = Math.ceil((order.calls * 2 * (GAP_MS + 25)) / 1e3) + 2;
  const shape = { ...s1Shape(context, 1), seconds };
  const stream = measureStream(target, load, shape, context.signal);
  const [measured] = await Promise.all([measure(order), stream]);
  return measured;
}

/** A second worker on the platform's broker, which appends on schedule. */
async function startProducing({
  broker,
  tenant,
  url,
  apiKey,
  processes,
}: BenchPlatform): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const producer = stack.use(await startWorker(broker, tenant));
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  return createTarget({
    processes,
    deliveryRole: "delivery",
    producer,
    readerOf: (id) => ({ transport: "sse", port, path: `/v1/generations/${id}/events`, headers }),
    stack: stack.move(),
  });
}

async function measure(order: FirstOrder): Promise<FirstMeasured> {
  const script = new URL("../load/first-client.ts", import.meta.url);
  await using client = await startChild({ name: "first client", script });
  return await client.call<FirstMeasured>("measure", order);
}
