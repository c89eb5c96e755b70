import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { nkeys } from "@nats-io/transport-node";
import { generationsStream, JOBS_STREAM, LEASES_STREAM, RULES_STREAM } from "@reprise/protocol";
import {
  createTempDir,
  eventually,
  PATIENCE_MS,
  startStoredBroker,
  startTcpProxy,
  startTestBroker,
  startTestCluster,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { BrokerAvailability, hasQuorum } from "./broker-availability.ts";
import { connectBroker } from "../nats/connection.ts";
import { openBroker } from "./topology.ts";
import { watchConnection } from "../nats/watch-connection.ts";
import { openWorld, SHARDS } from "@reprise/stream/testing";

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
});

test("a broker whose connections are back does not count as available before its streams have answered", async () => {
  await using world = await openWorld();
  await using availability = new BrokerAvailability({ ...world, shards: SHARDS, everyMs: EVERY_MS });
  const whenBack: (readonly string[])[] = [];
  const { main, reads, bulk } = world.broker;
  for (const connection of [main, reads, bulk])
    watchConnection(connection, { onUp: () => whenBack.push(availability.because()) });
  await world.server.kill("SIGKILL");
  await eventually(() => expect(availability.because()).toEqual(["not connected to NATS"]));
  await world.server.restart();
  await eventually(() => expect(availability.because()).toEqual([]));
  const away = ["not connected to NATS"];
  const unproven = ["the log's streams have not answered since the connection is back"];
  expect(whenBack).toEqual([away, away, unproven]);
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

test.each([JOBS_STREAM, RULES_STREAM])(
  "without %s no create would be stored, and it is named",
  async (stream) => {
    await using world = await openWorld();
    await (await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS })).streams.delete(stream);
    await using availability = new BrokerAvailability({ ...world, shards: SHARDS, everyMs: EVERY_MS });
    await eventually(() => expect(availability.because()).toEqual([expect.stringContaining(stream)]));
  },
);

test("without the connection of large requests a node is not connected", async () => {
  await using world = await openWorld();
  await using proxy = await startTcpProxy({ target: { port: world.server.port } });
  await using behindProxy = await connectBroker({ url: `nats://${proxy.host}:${proxy.port}`, name: "bulk" });
  const broker = { ...world.broker, bulk: behindProxy.bulk };
  await using availability = new BrokerAvailability({ broker, shards: SHARDS, everyMs: EVERY_MS });
  await proxy[Symbol.asyncDispose]();
  await eventually(() => expect(availability.because()).toEqual(["not connected to NATS"]));
});

test("a server that comes back and refuses the credentials is told beside its absence", async () => {
  await using dir = await createTempDir("refused");
  const nkeyFile = join(dir.path, "user.nk");
  const [known, other] = [nkeys.createUser(), nkeys.createUser()];
  const keep = (user: nkeys.KeyPair) => writeFile(nkeyFile, user.getSeed(), { mode: 0o600 });
  await keep(known);
  await using server = await startStoredBroker({
    extraConfig: { authorization: { users: [{ nkey: known.getPublicKey() }] } },
  });
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  await using broker = await openBroker({ url: server.url, access: { nkeyFile }, name: "test", ...topology });
  const told: string[] = [];
  await using availability = new BrokerAvailability({
    broker,
    shards: 1,
    everyMs: EVERY_MS,
    settleMs: 0,
    onChange: (because) => told.push(because.join()),
  });
  await keep(other);
  await server.restart();
  const refused = "not connected to NATS: the server refuses the credentials";
  await eventually(() => expect(availability.because().join()).toContain(refused));
  await keep(known);
  await eventually(() => expect(availability.because()).toEqual([]));
  expect(told[0]).toBe("not connected to NATS");
  expect(told).toContainEqual(expect.stringContaining(refused));
  expect(told.at(-1)).toBe("");
});

test("why a connection was refused once is not told of the next loss, before it is known of that", async () => {
  await using world = await openWorld();
  const broker = { ...world.broker, whyRefused: async () => "the server refuses the credentials" };
  const told: string[] = [];
  await using availability = new BrokerAvailability({
    broker,
    shards: SHARDS,
    everyMs: EVERY_MS,
    settleMs: 0,
    onChange: (because) => told.push(because.join()),
  });
  for (let outages = 0; outages < 2; outages++) {
    await world.server.kill("SIGKILL");
    await eventually(() => expect(availability.because().join()).toContain("refuses"));
    await world.server.restart();
    await eventually(() => expect(availability.because()).toEqual([]));
  }
  const losses = told.filter((_, i) => i === 0 || told[i - 1] === "");
  expect(losses).toEqual(["not connected to NATS", "not connected to NATS"]);
});

test("reasons that change are told once they have settled, and not before", async () => {
  await using world = await openWorld();
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const watch = (settleMs: number, to: string[]) =>
    new BrokerAvailability({
      ...world,
      shards: SHARDS,
      everyMs: EVERY_MS,
      settleMs,
      onChange: (because) => to.push(because.join()),
    });
  const [soon, late]: [string[], string[]] = [[], []];
  await using stack = new AsyncDisposableStack();
  for (const availability of [watch(0, soon), watch(600_000, late)]) stack.use(availability);
  for (const stream of [JOBS_STREAM, RULES_STREAM]) {
    await manager.streams.delete(stream);
    await eventually(() => {
      for (const to of [soon, late]) expect(to).not.toEqual([]);
      expect(soon.at(-1)).toContain(stream);
    });
  }
  expect(late).toEqual([expect.stringMatching(/JOBS/)]);
  expect(soon.at(-1)).toMatch(/JOBS.*RULES/);
});

test("a stream that is missing stays named, and is told once, while others are asked", async () => {
  await using server = await startTestBroker();
  const topology = { shards: 32, replicas: 1, retentionMs: 3_600_000 };
  await using broker = await openBroker({ url: server.url, name: "test", ...topology });
  const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
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

test("a stream whose leader hears from too few replicas is named, until it hears from enough", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  let replicas: object[] = [];
  main.subscribe("leader", {
    callback: (_error, request) =>
      void request.respond(
        JSON.stringify({ state: { last_seq: 0 }, config: { num_replicas: 3 }, cluster: { replicas } }),
      ),
  });
  const publish: typeof main.publish = (subject, ...rest) =>
    main.publish(subject === `$JS.API.STREAM.INFO.${JOBS_STREAM}` ? "leader" : subject, ...rest);
  const toLeader = Object.assign(Object.create(main) as typeof main, { publish });
  const broker = { ...world.broker, main: toLeader };
  await using availability = new BrokerAvailability({ broker, shards: SHARDS, everyMs: EVERY_MS });
  const [heard, silent] = [{ active: 1e9 }, { active: 6e9 }];
  replicas = [silent, silent];
  await eventually(() => expect(availability.because()).toEqual([`${JOBS_STREAM} has no quorum`]));
  expect(availability.missingReplicas).toBe(2);
  replicas = [heard, silent];
  await eventually(() => expect(availability.because()).toEqual([]));
  expect(availability.missingReplicas).toBe(1);
});

test("a leader has a quorum while it hears from enough replicas, itself counted", () => {
  const [heard, silent, offline] = [
    { name: "a", active: 1e9 },
    { name: "b", active: 6e9 },
    { name: "c", active: 1e9, offline: true },
  ];
  const quorumOf = (...replicas: (typeof heard)[]) => hasQuorum({ replicas });
  expect([hasQuorum(undefined), quorumOf()]).toEqual([true, true]);
  expect([quorumOf(heard, silent), quorumOf(heard, offline)]).toEqual([true, true]);
  expect([quorumOf(silent, offline), quorumOf(silent), quorumOf(offline)]).toEqual([false, false, false]);
});
