import { openBroker } from "@reprise/broker";
import { RepriseError } from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { startTcpProxy, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { ServiceBrokers } from "./service-brokers.ts";

const TOPOLOGY = { shards: 1, replicas: 1, retentionMs: 3_600_000 };

test("a service whose connections are lost makes the platform not ready, with one line when they are lost and one when they are back, and so does a follower that can't read", async () => {
  await using server = await startTestBroker();
  await using proxy = await startTcpProxy({ target: { host: "127.0.0.1", port: server.port } });
  await (await openBroker({ url: server.url, name: "set-up", ...TOPOLOGY })).close();
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const metrics = createMetrics({ processMetrics: false });
  await using brokers = new ServiceBrokers({
    addressOf: (user) => ({
      url: user === "inference-worker" ? `nats://127.0.0.1:${proxy.port}` : server.url,
    }),
    shards: TOPOLOGY.shards,
    logger: createLogger({ service: "test", destination: { write } }),
    metrics,
  });
  const delivery = await brokers.open("delivery");
  const worker = await brokers.open("inference-worker");
  expect(brokers.because()).toEqual([]);
  proxy.setFaults({ toServer: { cutAfterBytes: 0 } });
  proxy.cutNow();
  await expect.poll(() => brokers.because()).toEqual(["inference-worker: not connected to NATS"]);
  expect(delivery.brokerWatch.because()).toEqual([]);
  const isAway = /^reprise_dependency_up\{service="inference-worker",dependency="broker"\} 0$/m;
  await expect.poll(() => metrics.render()).toMatch(isAway);
  proxy.setFaults({});
  proxy.cutNow();
  await expect.poll(() => brokers.because()).toEqual([]);
  expect(worker.brokerWatch.because()).toEqual([]);
  delivery.brokerWatch.onStale("the tenants", new RepriseError("broker_unavailable", "no leader"));
  expect(brokers.because("delivery")).toEqual(["delivery: the tenants can't be followed: no leader"]);
  const saidOf = (service: string) => lines.filter(({ user }) => user === service).map(({ msg }) => msg);
  expect(saidOf("inference-worker").slice(0, 2)).toEqual([
    "the broker takes no appends",
    "the broker takes appends again",
  ]);
  expect(saidOf("delivery")).toContain("a follower can't read the broker, and continues with what it has");
});

test("the platform fails when the broker's logs are spread over another number of shards", async () => {
  await using server = await startTestBroker();
  const setUp = { url: server.url, name: "set-up", ...TOPOLOGY };
  await (await openBroker(setUp)).close();
  await using brokers = new ServiceBrokers({
    addressOf: () => ({ url: server.url }),
    shards: TOPOLOGY.shards + 1,
    logger: createLogger({ service: "test", destination: { write: () => {} } }),
    metrics: createMetrics({ processMetrics: false }),
  });
  await brokers.open("delivery");
  await expect(brokers.failed).rejects.toMatchObject({
    code: "broker_incompatible",
    param: "REPRISE_SHARDS",
  });
});
