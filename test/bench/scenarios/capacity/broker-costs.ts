import { randomBytes } from "node:crypto";
import { createGenerationLog, openBroker } from "@reprise/log";
import { asSeq, createGenerationId, encodeEvent, logSubject, parseTenantId } from "@reprise/protocol";
import { startNatsServer } from "@reprise/service";
import { createTempDir, startTestCluster } from "@reprise/testkit";
import { startChild } from "../../children/child.ts";
import { nowMicros, untilMicros } from "../../measure/clock.ts";
import { cpuBetween, type MeasuredProcess, readUsage } from "../../measure/process-usage.ts";

const GENERATIONS = 1_000;
const WARM_UP_MICROS = 1e6;
const RETENTION_MS = 24 * 3_600_000;
const PUBLISHED_AT_ONCE = 2_000;

/** What one stream of logs takes at most, appended to by one worker process without a pause. */
export interface StreamCeiling {
  readonly replicas: number;
  readonly eventsPerSecond: number;
  /** Of all servers together, CPU microseconds per event, checkpoints included. */
  readonly serversMicros: number;
  /** Of all servers together, files included. */
  readonly serversWrittenBytes: number;
}

/** Servers without users, as the cost of a connection's rights is not in question. */
export async function measureCeiling(
  natsServer: string,
  replicas: 1 | 3,
  seconds: number,
  signal: AbortSignal,
): Promise<StreamCeiling> {
  await using stack = new AsyncDisposableStack();
  const { url, processes } = await startServers(natsServer, replicas, stack);
  await (await openBroker({ url, name: "bench", shards: 1, replicas, retentionMs: RETENTION_MS })).close();
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("../../targets/reprise/append-worker.ts", import.meta.url),
      args: ["1"],
      env: { REPRISE_NATS_URL: url },
    }),
  );
  await worker.call("start", { generations: GENERATIONS });
  await untilMicros(nowMicros() + WARM_UP_MICROS, signal);
  const read = async () => ({
    micros: nowMicros(),
    stored: await worker.call<number>("stored"),
    usage: await readUsage(processes),
  });
  const before = await read();
  await untilMicros(before.micros + seconds * 1e6, signal);
  const after = await read();
  const events = after.stored - before.stored;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const writtenOf = (usage: typeof after.usage) =>
    sum(Object.values(usage).map(({ writtenBytes }) => writtenBytes));
  return {
    replicas,
    eventsPerSecond: events / ((after.micros - before.micros) / 1e6),
    serversMicros: sum(Object.values(cpuBetween(before.usage, after.usage))) / events,
    serversWrittenBytes: (writtenOf(after.usage) - writtenOf(before.usage)) / events,
  };
}

async function startServers(
  binary: string,
  replicas: 1 | 3,
  stack: AsyncDisposableStack,
): Promise<{ url: string; processes: MeasuredProcess[] }> {
  if (replicas === 3) {
    const { url, nodes } = stack.use(await startTestCluster());
    return { url, processes: nodes.map(({ name, pid }) => ({ role: name, pid })) };
  }
  const dir = stack.use(await createTempDir("bench-nats"));
  const { url, pid } = stack.use(await startNatsServer({ binary, storeDir: dir.path }));
  return { url, processes: [{ role: "nats-server", pid }] };
}

/** Resident bytes of a restarted server for each generation that it keeps one event of: its subject, above all. */
export async function measureSubject(
  natsServer: string,
  generations: number,
  signal: AbortSignal,
): Promise<number> {
  await using dir = await createTempDir("bench-nats");
  const start = () => startNatsServer({ binary: natsServer, storeDir: dir.path });
  const topology = { shards: 1, replicas: 1, retentionMs: RETENTION_MS };
  {
    await using server = await start();
    await (await openBroker({ url: server.url, name: "bench", ...topology })).close();
  }
  const empty = await restartedRss(start);
  {
    await using server = await start();
    await using broker = await openBroker({ url: server.url, name: "bench", ...topology });
    const log = createGenerationLog(broker);
    const payload = encodeEvent(asSeq(1), { type: "output.delta", text: "token" });
    const tenant = parseTenantId("demo");
    for (let at = 0; at < generations; at += PUBLISHED_AT_ONCE) {
      signal.throwIfAborted();
      const batch = Array.from({ length: Math.min(PUBLISHED_AT_ONCE, generations - at) }, async () => {
        const generation = createGenerationId(randomBytes(17), 1);
        const outcome = await log.publish(logSubject({ tenant, generation }), payload, { timeoutMs: 30_000 });
        if (outcome.kind !== "stored") throw new Error(`An event was not stored: ${outcome.kind}.`);
      });
      await Promise.all(batch);
    }
  }
  return ((await restartedRss(start)) - empty) / generations;
}

async function restartedRss(start: () => ReturnType<typeof startNatsServer>): Promise<number> {
  await using server = await start();
  const usage = await readUsage([{ role: "nats-server", pid: server.pid }]);
  return usage["nats-server"]!.rssBytes;
}
