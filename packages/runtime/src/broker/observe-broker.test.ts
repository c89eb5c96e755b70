import { connectBroker, openBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { createGenerationId, generationsStream, logSubject, parseTenantId } from "@reprise/protocol";
import { PATIENCE_MS, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { createLogger } from "../lifecycle/logger.ts";
import { DependencyWatches } from "../lifecycle/dependency-watch.ts";
import { watchBroker } from "./broker-watch.ts";
import { observeBroker } from "./observe-broker.ts";

const CONNECTIONS = ["main", "reads", "bulk"];

async function seriesOf(metrics: Metrics, name: string) {
  const lines = (await metrics.render()).matchAll(
    new RegExp(`^${name}\\{service="x",connection="(.*)"\\} (\\S+)$`, "gm"),
  );
  return Object.fromEntries([...lines].map(([, connection, value]) => [connection, Number(value)]));
}

const each = (value: unknown) => Object.fromEntries(CONNECTIONS.map((name) => [name, value]));

test("the connections of a service are up, are lost, and are made again", async () => {
  await using server = await startTestBroker();
  await using broker = await connectBroker({ url: server.url, name: "test" });
  const metrics = createMetrics({ processMetrics: false });
  using _ = observeBroker(broker, { metrics, service: "x", rttEveryMs: 50 });
  const has = (name: string, expected: unknown) =>
    expect.poll(() => seriesOf(metrics, name)).toEqual(expected);
  await has("reprise_broker_rtt_seconds", each(expect.any(Number)));
  await has("reprise_broker_connected", each(1));
  await has("reprise_broker_reconnects_total", each(0));
  await server.kill("SIGKILL");
  await has("reprise_broker_connected", each(0));
  await has("reprise_broker_rtt_seconds", {});
  await server.restart();
  await has("reprise_broker_connected", each(1));
  await has("reprise_broker_reconnects_total", each(1));
  await has("reprise_broker_rtt_seconds", each(expect.any(Number)));
});

test("a watch of the broker knows where the streams of logs end", async () => {
  await using server = await startTestBroker();
  const topology = { shards: 2, replicas: 1, retentionMs: 3_600_000 };
  await using broker = await openBroker({ url: server.url, name: "test", ...topology });
  const logger = createLogger({ service: "test", level: "silent" });
  using watches = new DependencyWatches({ service: "test", logger });
  await using watch = watchBroker(broker, 2, watches);
  const ends = () => [0, 1, 2].map((shard) => watch.lastStreamSeq(generationsStream(shard)));
  expect(ends()).toEqual([undefined, undefined, undefined]);
  await expect.poll(ends).toEqual([0, 0, undefined]);
  const { publish } = createGenerationLog(broker);
  const ref = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };
  for (let i = 0; i < 3; i++) await publish(logSubject(ref), Buffer.from("{}"), { timeoutMs: PATIENCE_MS });
  await expect.poll(ends).toEqual([3, 0, undefined]);
});
