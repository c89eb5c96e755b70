import { asStreamSeq } from "@reprise/protocol";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { eventually, PATIENCE_MS, startTestBroker, type TestBroker } from "@reprise/testkit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { BrokerAvailability } from "./broker-availability.ts";
import { type Broker, connectBroker } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { openBroker } from "./topology.ts";
import { agreeOnShards, encodeShardAnnouncement, readShardCount } from "./shard-count.ts";
import { getLastMessage, getNextMessage } from "../nats/stream-api.ts";

const EVERY_MS = 50;
const COUNT = "lease.shards.work.count";

let server: TestBroker;
beforeAll(async () => {
  server = await startTestBroker();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Every test begins with an empty broker. */
beforeEach(async () => {
  await using broker = await connectBroker({ url: server.url, name: "test" });
  const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
  for await (const name of manager.streams.names()) await manager.streams.delete(name);
});

const open = (shards: number): Promise<Broker> =>
  openBroker({ url: server.url, name: "test", shards, replicas: 1, retentionMs: 3_600_000 });

/** Starts a process with this number of shards, until it is disposed of. */
async function start(shards: number) {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await open(shards));
  const failures: Error[] = [];
  const onOtherShards = (error: Error) => failures.push(error);
  const watch = stack.use(new BrokerAvailability({ broker, shards, everyMs: EVERY_MS, onOtherShards }));
  const owned = stack.move();
  return { broker, watch, failures, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const streamsOf = async ({ main }: Broker) => {
  const names = await (
    await jetstreamManager(main, { timeout: PATIENCE_MS })
  ).streams
    .names("gen.*.>")
    .next();
  return names.length;
};

const REFUSED = { code: "broker_incompatible", param: "REPRISE_SHARDS" };

/** Resolves when a process has announced itself. */
const spoken = ({ main }: Broker) =>
  eventually(async () => {
    const announcement = { afterStreamSeq: asStreamSeq(0), subject: "lease.shards.member.*" };
    expect(await getNextMessage(main, "LEASES", announcement)).toBeDefined();
  });

test("a process with another number than those that run is refused, and makes no stream", async () => {
  await using running = await start(4);
  await spoken(running.broker);
  await expect(open(2)).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining("over 4") });
  await expect(open(8)).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining("run with 4") });
  expect([await streamsOf(running.broker), await readShardCount(running.broker.main)]).toEqual([4, 4]);
  await using _ = await start(4);
  expect(running.failures).toEqual([]);
});

test("the number is raised when no process with the old one is left, and never lowered", async () => {
  {
    await using running = await start(2);
    await spoken(running.broker);
  }
  await using raised = await start(3);
  expect([await streamsOf(raised.broker), await readShardCount(raised.broker.main)]).toEqual([3, 3]);
  await expect(open(2)).rejects.toMatchObject(REFUSED);
});

test("a process that died counts as gone once it has been silent for long enough", async () => {
  await using dead = await start(2);
  await using broker = await connectBroker({ url: server.url, name: "test" });
  await spoken(broker);
  const raise = (silenceMs: number) =>
    agreeOnShards(broker.main, { shards: 3, countExisting: async () => 2, silenceMs });
  await expect(raise(60_000)).rejects.toMatchObject(REFUSED);
  await dead.broker.close();
  await raise(10 * EVERY_MS);
  expect(await readShardCount(broker.main)).toBe(3);
});

test("a process that was paused while the number was raised ends when it learns of it", async () => {
  await using paused = await start(2);
  const count = (await jetstreamManager(paused.broker.main, { timeout: PATIENCE_MS })).streams;
  await count.purge("LEASES", { filter: "lease.shards.member.*" });
  await using _ = await open(2);
  const publish = createPublish(inboxOf(paused.broker.main));
  await publish(COUNT, encodeShardAnnouncement(3), {});
  await eventually(() => expect(paused.failures).toMatchObject([REFUSED]));
});

test("a process that announces another number while the number is written has it back as it was", async () => {
  await using broker = await open(2);
  const { main } = broker;
  let isWritten = false;
  const publish: typeof main.publish = (subject, ...rest) => {
    isWritten ||= subject === COUNT;
    if (isWritten) main.publish("lease.shards.member.other", encodeShardAnnouncement(2));
    main.publish(subject, ...rest);
  };
  const toOther = Object.assign(Object.create(main) as typeof main, { publish });
  const raised = agreeOnShards(toOther, { shards: 3, countExisting: async () => 2 });
  await expect(raised).rejects.toMatchObject(REFUSED);
  expect(await readShardCount(main)).toBe(2);
});

test("of processes that start at once with two numbers, those with at most one number continue", async () => {
  const numbers = [2, 3, 2, 3, 2, 3];
  const settled = await Promise.allSettled(
    numbers.map(async (shards) => ({ shards, ...(await start(shards)) })),
  );
  const started = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  await eventually(async () => {
    const kept = await readShardCount(started[0]!.broker.main);
    const going = started.filter(({ failures }) => failures.length === 0);
    expect(going.filter(({ shards }) => shards !== kept)).toEqual([]);
  });
  for (const process of started) await process[Symbol.asyncDispose]();
});

test("a broker that was used before it kept the number has the one of its streams", async () => {
  {
    await using before = await open(3);
    await (await jetstreamManager(before.main, { timeout: PATIENCE_MS })).streams.purge("LEASES");
  }
  await expect(open(2)).rejects.toMatchObject(REFUSED);
  await using same = await open(3);
  expect(await readShardCount(same.main)).toBe(3);
});

test("the number outlives the retention time, also while no process runs, and one that an older version has kept", async () => {
  const stored = { url: server.url, name: "test", shards: 3, replicas: 1, retentionMs: 1_000 };
  {
    await using _ = await openBroker(stored);
    await using broker = await connectBroker({ url: server.url, name: "test" });
    const { seq } = await jetstream(broker.main, { timeout: PATIENCE_MS }).publish(
      COUNT,
      JSON.stringify({ shards: 3 }),
    );
    await using again = await openBroker(stored);
    const kept = await getLastMessage(again.main, "LEASES", COUNT);
    expect(kept?.streamSeq).toBeGreaterThan(seq);
  }
  await using broker = await connectBroker({ url: server.url, name: "test" });
  await jetstream(broker.main, { timeout: PATIENCE_MS }).publish(
    "lease.shards.member.dead",
    JSON.stringify({ shards: 3 }),
  );
  const dead = { afterStreamSeq: asStreamSeq(0), subject: "lease.shards.member.*" };
  await eventually(async () => expect(await getNextMessage(broker.main, "LEASES", dead)).toBeUndefined());
  expect(await readShardCount(broker.main)).toBe(3);
});
