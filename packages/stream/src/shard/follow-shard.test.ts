import { jetstreamManager } from "@nats-io/jetstream";
import { type GenerationRef, generationsStream, streamOf, asStreamSeq } from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { connectBroker, getStreamInfo } from "@reprise/broker";
import { fillStream, streamsWithTextOf } from "../erasure/fill-stream.ts";
import { followShard, type ShardEvent, type ShardFollowerOptions } from "./follow-shard.ts";
import { newRef, openWorld, openWorldBehindProxy, type World, writeLog } from "../testing/world.ts";

const SHARD = 0;
const NAME = "auditors";

function refOfShard(): GenerationRef {
  for (;;) {
    const ref = newRef();
    if (streamOf(ref.generation) === generationsStream(SHARD)) return ref;
  }
}

/** Writes one log with this number of events. */
async function write(world: World, events: number): Promise<GenerationRef> {
  const ref = refOfShard();
  await writeLog(world.log, ref, events - 1);
  return ref;
}

/** A follower that keeps what it sees. */
async function follow(world: World, options: Partial<ShardFollowerOptions> = {}) {
  const events: ShardEvent[] = [];
  const follower = await followShard({
    broker: world.broker,
    shard: SHARD,
    name: NAME,
    onEvents: (more) => events.push(...more),
    onError: (error) => world.errors.push(error),
    ...options,
  });
  return {
    events,
    follower,
    seen: () => events.map(({ streamSeq }) => streamSeq),
    [Symbol.asyncDispose]: () => follower.close(),
  };
}

const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test("a follower sees the events of all logs of its shard, in order, once, as they are stored", async () => {
  await using world = await openWorld();
  const before = Date.now();
  const early = await write(world, 3);
  await using auditor = await follow(world);
  const late = await write(world, 500);
  await eventually(() => expect(auditor.events.length).toBeGreaterThanOrEqual(503));
  expect(auditor.seen()).toEqual(from(1, 503));
  const stored = await world.log.leader.readTail(late, asStreamSeq(0));
  expect(auditor.events.slice(3).map(({ payload }) => Buffer.from(payload).toString())).toEqual(
    stored.map(({ payload }) => Buffer.from(payload).toString()),
  );
  expect([auditor.events[0]!.ref, auditor.events[3]!.ref, world.errors]).toEqual([early, late, []]);
  expect(auditor.events.every(({ storedAtMs }) => storedAtMs > before - 1_000)).toBe(true);
});

test("what an erasure fills the stream with is no event, and no error", async () => {
  await using world = await openWorld();
  const early = await write(world, 2);
  await using live = await follow(world);
  await eventually(() => expect(live.seen()).toEqual([1, 2]));
  await fillStream(world, streamsWithTextOf([early.generation])[0]!);
  await write(world, 2);
  await eventually(() => expect(live.seen()).toEqual([1, 2, 36, 37]));
  await using late = await follow(world, { name: "latecomers" });
  await eventually(() => expect(late.seen()).toEqual([1, 2, 36, 37]));
  expect(world.errors).toEqual([]);
});

test("a follower that comes back begins after what was acknowledged last", async () => {
  await using world = await openWorld();
  await write(world, 10);
  await using first = await follow(world);
  await eventually(() => expect(first.seen()).toEqual(from(1, 10)));
  first.follower.ack(asStreamSeq(7));
  first.follower.ack(asStreamSeq(5));
  await first.follower.close();
  await using second = await follow(world);
  await eventually(() => expect(second.seen()).toEqual(from(8, 10)));
  await write(world, 2);
  await eventually(() => expect(second.seen()).toEqual(from(8, 12)));
  expect([first.seen(), world.errors]).toEqual([from(1, 10), []]);
});

test("a new follower with a start time begins with what is stored then or later", async () => {
  await using world = await openWorld();
  await write(world, 5);
  await using everything = await follow(world, { name: "everything" });
  await eventually(() => expect(everything.seen()).toEqual(from(1, 5)));
  const startTime = new Date(everything.events[4]!.storedAtMs + 1);
  await eventually(() => expect(Date.now()).toBeGreaterThan(startTime.getTime()));
  await using auditor = await follow(world, { startTime });
  await write(world, 4);
  await eventually(() => expect(auditor.seen()).toEqual(from(6, 9)));
});

test("of two followers one is fed, and the other takes over after the last acknowledgement when it closes", async () => {
  await using world = await openWorld();
  await using first = await follow(world);
  await write(world, 10);
  await eventually(() => expect(first.seen()).toEqual(from(1, 10)));
  await using second = await follow(world);
  await write(world, 10);
  await eventually(() => expect(first.seen()).toEqual(from(1, 20)));
  expect(second.seen()).toEqual([]);
  first.follower.ack(asStreamSeq(16));
  await first.follower.close();
  await eventually(() => expect(second.seen()).toEqual(from(17, 20)));
  await write(world, 3);
  await eventually(() => expect(second.seen()).toEqual(from(17, 23)));
  expect([first.seen(), world.errors]).toEqual([from(1, 20), []]);
});

test("a follower that dies is replaced within seconds, though nothing new is stored", async () => {
  await using world = await openWorld();
  await using broker = await connectBroker({ url: world.server.url, name: "mortal" });
  await using first = await follow(world, { broker });
  await write(world, 10);
  await eventually(() => expect(first.seen()).toEqual(from(1, 10)));
  first.follower.ack(asStreamSeq(4));
  await broker.main.flush();
  await using second = await follow(world);
  await broker.close();
  await eventually(() => expect(second.seen()).toEqual(from(5, 10)));
  expect([first.seen(), world.errors]).toEqual([from(1, 10), []]);
});

test("what was under way when the connection was cut is seen once, in its place", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await connectBroker({ url: world.server.url, name: "direct" });
  await using auditor = await follow(world);
  await write(world, 10);
  await eventually(() => expect(auditor.seen()).toEqual(from(1, 10)));
  world.proxy.setFaults({ toClient: { latencyMs: 10_000 } });
  const { tenant, generation } = refOfShard();
  for (let i = 0; i < 100; i++) direct.main.publish(`gen.${SHARD}.${tenant}.${generation}`, `${i}`);
  const handedOut = async () =>
    (
      await (
        await jetstreamManager(direct.main, { timeout: PATIENCE_MS })
      ).consumers.info(generationsStream(SHARD), NAME)
    ).delivered.stream_seq;
  await eventually(async () => expect(await handedOut()).toBe(110));
  world.proxy.setFaults({});
  world.proxy.cutNow();
  await eventually(() => expect(auditor.seen()).toEqual(from(1, 110)));
});

test("a follower continues where it was after the broker was killed", async () => {
  await using world = await openWorld();
  await using auditor = await follow(world);
  await write(world, 10);
  await eventually(() => expect(auditor.seen()).toEqual(from(1, 10)));
  auditor.follower.ack(asStreamSeq(10));
  await world.broker.main.flush();
  await world.server.kill("SIGKILL");
  await world.server.restart();
  await eventually(() => write(world, 5));
  await eventually(() => expect(auditor.seen().at(-1)).toBeGreaterThanOrEqual(15));
  expect(auditor.seen()).toEqual(from(1, auditor.seen().length));
});

test("a follower whose consumer was deleted makes a new one after what it has acknowledged", async () => {
  await using world = await openWorld();
  await using auditor = await follow(world);
  await write(world, 10);
  await eventually(() => expect(auditor.seen()).toEqual(from(1, 10)));
  auditor.follower.ack(asStreamSeq(10));
  await (
    await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS })
  ).consumers.delete(generationsStream(SHARD), NAME);
  await write(world, 5);
  await eventually(() => expect(auditor.seen()).toEqual(from(1, 15)));
  expect(world.errors).toEqual([]);
});

test("a follower that was stopped sees nothing more, and can still acknowledge", async () => {
  await using world = await openWorld();
  await using first = await follow(world);
  await write(world, 10);
  await eventually(() => expect(first.seen()).toEqual(from(1, 10)));
  await first.follower.stop();
  await write(world, 5);
  first.follower.ack(asStreamSeq(9));
  await first.follower.close();
  await using second = await follow(world);
  await eventually(() => expect(second.seen()).toEqual(from(10, 15)));
  expect(first.seen()).toEqual(from(1, 10));
});

test("a follower is told which events have expired before any follower was handed them, between the events before and after them", async () => {
  await using world = await openWorld();
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const keepFor = (ms: number) =>
    manager.streams.update(generationsStream(SHARD), { max_age: ms * 1_000_000 });
  const told: string[] = [];
  const keep = {
    onEvents: (events: readonly ShardEvent[]) =>
      void told.push(...events.map(({ streamSeq }) => `${streamSeq}`)),
    onGap: (first: number, last: number) => void told.push(`${first} to ${last}`),
  };
  await write(world, 4);
  const first = await follow(world, keep);
  await eventually(() => expect(told).toEqual(["1", "2", "3", "4"]));
  first.follower.ack(asStreamSeq(3));
  await first.follower.close();
  await write(world, 6);
  const isExpired = async () => {
    const { state } = await getStreamInfo(world.broker.main, generationsStream(SHARD));
    expect(state.messages).toBe(0);
  };
  // Only now, so that nothing else expires, however long it takes.
  await keepFor(1_000);
  await eventually(isExpired);
  await keepFor(3_600_000);
  await using second = await follow(world, keep);
  await write(world, 2);
  await eventually(() => expect(told.slice(4)).toEqual(["5 to 10", "11", "12"]));
  await second.follower.close();
  expect(world.errors).toEqual([]);
});

test("a follower whose connection is closed for good does nothing more", async () => {
  await using world = await openWorld();
  await using broker = await connectBroker({ url: world.server.url, name: "mortal" });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  await using owned = new AsyncDisposableStack();
  owned.defer(() => void vi.useRealTimers());
  owned.use(await follow(world, { broker }));
  await broker.close();
  expect(() => vi.advanceTimersByTime(10_000)).not.toThrow();
});
