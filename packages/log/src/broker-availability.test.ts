import { jetstreamManager } from "@nats-io/jetstream";
import { generationsStream, LEASES_STREAM } from "@reprise/protocol";
import { startTestBroker, startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { BrokerAvailability } from "./broker-availability.ts";
import { openBroker } from "./open-broker.ts";
import { eventually } from "./testing/eventually.ts";
import { openWorld, SHARDS } from "./testing/world.ts";

const EVERY_MS = 100;

test("a broker that is away and comes back is told once each, and counts as back when it stores again", async () => {
  await using world = await openWorld();
  const told: (readonly string[])[] = [];
  await using availability = new BrokerAvailability({
    broker: world.broker,
    shards: SHARDS,
    everyMs: EVERY_MS,
    onChange: (because) => told.push(because),
  });
  expect(availability.because()).toEqual([]);
  await world.server.kill("SIGKILL");
  await eventually(() => expect(availability.because()).toEqual(["not connected to NATS"]));
  await world.server.restart();
  await eventually(() => expect(availability.because()).toEqual([]));
  expect(told).toEqual([["not connected to NATS"], []]);
  expect([availability.wasAwayWithin(600_000), availability.wasAwayWithin(0)]).toEqual([true, false]);
});

test("a broker that is connected and does not answer is not available", async () => {
  await using world = await openWorld();
  await using availability = new BrokerAvailability({
    broker: world.broker,
    shards: SHARDS,
    everyMs: EVERY_MS,
  });
  await world.server.kill("SIGSTOP");
  await eventually(() =>
    expect(availability.because().join()).toMatch(/LEASES stores nothing|GENERATIONS_0/),
  );
  await world.server.kill("SIGCONT");
  await eventually(() => expect(availability.because()).toEqual([]));
});

test("a shard without its stream is named", async () => {
  await using world = await openWorld();
  await using availability = new BrokerAvailability({ broker: world.broker, shards: 20, everyMs: EVERY_MS });
  await eventually(() => expect(availability.because().join()).toMatch(/GENERATIONS_19/));
});

test("a stream that is missing stays named, and is told once, while others are asked", async () => {
  await using server = await startTestBroker();
  const topology = { shards: 32, replicas: 1, retentionMs: 3_600_000 };
  await using broker = await openBroker({ url: server.url, name: "test", ...topology });
  const manager = await jetstreamManager(broker.main);
  await manager.streams.delete(generationsStream(31));
  const told: (readonly string[])[] = [];
  await using _ = new BrokerAvailability({
    broker,
    shards: 32,
    everyMs: EVERY_MS,
    onChange: (because) => told.push(because),
  });
  await eventually(() => expect(told).not.toEqual([]));
  const probes = async () => (await manager.streams.info(LEASES_STREAM)).state.last_seq;
  const probed = await probes();
  await expect.poll(probes).toBeGreaterThan(probed + 4);
  expect(told).toEqual([[expect.stringContaining("GENERATIONS_31")]]);
});

test("a cluster that has lost its quorum is not available though it is connected", async () => {
  await using cluster = await startTestCluster();
  const topology = { shards: 2, replicas: 3, retentionMs: 3_600_000 };
  const [first, ...others] = cluster.nodes;
  await using broker = await openBroker({ url: first!.url, name: "test", ...topology });
  await using availability = new BrokerAvailability({ broker, shards: 2, everyMs: EVERY_MS });
  for (const node of others) await node.kill("SIGKILL");
  await eventually(() => expect(availability.because()).not.toEqual([]));
  expect(availability.because()).not.toContain("not connected to NATS");
});
