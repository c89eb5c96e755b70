import { peekSeq, asStreamSeq, type GenerationRef } from "@reprise/protocol";
import fc from "fast-check";
import { eventually } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { Hub } from "./hub.ts";
import type { HubOptions } from "./hub-options.ts";
import { follow, framesOf } from "../testing/follow.ts";
import { createHostileFeed, FEED_FATES, type FeedFate } from "../testing/hostile-feed.ts";
import { plainFraming } from "../testing/plain-framing.ts";
import {
  appendOne,
  appenderOf,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
  type World,
} from "../testing/world.ts";
import type { Appender } from "../append/appender.ts";

afterEach(() => void vi.useRealTimers());

/** A hub whose live feed meets these fates. Without an idle probe unless the options say otherwise. */
function hostileHub(world: World, fateOf: (seq: number) => FeedFate, options: Partial<HubOptions> = {}) {
  const feed = createHostileFeed(world.broker.main, (_, msg) => fateOf(peekSeq(msg.data)));
  const hub = new Hub({
    connection: feed.connection,
    reader: world.log.reader,
    leader: world.log.leader,
    verdicts: world.log.verdicts,
    framing: plainFraming,
    probeMs: 600_000,
    onError: (error) => world.errors.push(error),
    ...options,
  });
  return { hub, feed, [Symbol.dispose]: () => hub.close() };
}

async function begin(world: World, ref: GenerationRef): Promise<Appender> {
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, requested(ref));
  await appendOne(appender, started());
  return appender;
}

async function finish(appender: Appender, deltas: number): Promise<void> {
  for (let i = 0; i < deltas; i++) await appendOne(appender, delta(`${i} `));
  await appendOne(appender, completed());
}

async function expectedFrames(world: World, ref: GenerationRef): Promise<string> {
  const stored = await eventually(() => world.log.leader.readTail(ref, asStreamSeq(0)));
  return framesOf(stored.map(({ payload }) => payload));
}

test("a reader gets every event once and in order when the live feed loses, repeats and delays events", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.constantFrom(...FEED_FATES)), async (fates) => {
      using hostile = hostileHub(world, () => fates.next().value!, { probeMs: 40 });
      const ref = newRef();
      const appender = await begin(world, ref);
      const reading = follow(await hostile.hub.open(ref));
      await finish(appender, 150);
      expect(await reading).toBe(await expectedFrames(world, ref));
    }),
    { numRuns: 8 },
  );
  expect(world.errors).toEqual([]);
});

test("fifty readers that join at any time see the same bytes", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(
      fc.infiniteStream(fc.constantFrom(...FEED_FATES)),
      fc.array(fc.nat(200), { minLength: 50, maxLength: 50 }),
      async (fates, joins) => {
        using hostile = hostileHub(world, () => fates.next().value!, { probeMs: 40 });
        const ref = newRef();
        const appender = await begin(world, ref);
        const readings: Promise<string>[] = [];
        const join = async () => follow(await hostile.hub.open(ref));
        for (let i = 0; i <= 200; i++) {
          for (const at of joins) if (at === i) readings.push(join());
          await appendOne(appender, delta(`${i} `));
        }
        await appendOne(appender, completed());
        const seen = await Promise.all(readings);
        expect(seen).toHaveLength(50);
        expect([...new Set(seen)]).toEqual([await expectedFrames(world, ref)]);
        expect(hostile.feed.subscriptions.length).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 3 },
  );
  expect(world.errors).toEqual([]);
});

test("the loss of the last event is found by the idle probe", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["performance"] });
  using hostile = hostileHub(world, (seq) => (seq === 7 ? "drop" : "pass"), { probeMs: 300 });
  const ref = newRef();
  const appender = await begin(world, ref);
  const reading = follow(await hostile.hub.open(ref));
  await finish(appender, 5);
  expect(hostile.hub.stats.probes).toBe(0);
  vi.advanceTimersByTime(301);
  expect(await reading).toBe(await expectedFrames(world, ref));
  expect(hostile.hub.stats.probes).toBeGreaterThan(0);
  expect(hostile.hub.stats.repairs).toBe(1);
});

test("a live feed that is mute delays readers and takes nothing from them", async () => {
  await using world = await openWorld();
  using hostile = hostileHub(world, () => "drop", { probeMs: 20 });
  const ref = newRef();
  const appender = await begin(world, ref);
  const reading = follow(await hostile.hub.open(ref));
  await finish(appender, 50);
  expect(await reading).toBe(await expectedFrames(world, ref));
});

test("a gap in the live feed is filled from the log at once, without the probe", async () => {
  await using world = await openWorld();
  using hostile = hostileHub(world, (seq) => (seq === 4 ? "drop" : "pass"));
  const ref = newRef();
  const appender = await begin(world, ref);
  const reading = follow(await hostile.hub.open(ref));
  await finish(appender, 5);
  expect(await reading).toBe(await expectedFrames(world, ref));
  expect(hostile.hub.stats).toMatchObject({ repairs: 1, probes: 0 });
});

test("what is stored while a generation is being opened is not missed", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const appender = await begin(world, ref);
  const { reader } = world.log;
  const readLog = async () => {
    const snapshot = await reader.readLog(ref);
    await finish(appender, 3);
    // The live feed has shown it all by now, to a hub that has no cache yet.
    await world.broker.main.flush();
    return snapshot;
  };
  using hostile = hostileHub(world, () => "pass", { reader: { ...reader, readLog } });
  expect(await follow(await hostile.hub.open(ref))).toBe(await expectedFrames(world, ref));
  expect(hostile.hub.stats.probes).toBe(0);
});

test("a feed without faults needs no repair and no probe", async () => {
  await using world = await openWorld();
  using hostile = hostileHub(world, () => "pass");
  const ref = newRef();
  const appender = await begin(world, ref);
  const reading = follow(await hostile.hub.open(ref));
  await finish(appender, 100);
  expect(await reading).toBe(await expectedFrames(world, ref));
  expect(hostile.hub.stats).toMatchObject({ repairs: 0, probes: 0 });
});

test("what was lost with a connection is read from the log when it is back", async () => {
  await using world = await openWorld();
  let lose = false;
  using hostile = hostileHub(world, () => (lose ? "drop" : "pass"));
  const ref = newRef();
  const appender = await begin(world, ref);
  const reading = follow(await hostile.hub.open(ref));
  lose = true;
  await finish(appender, 20);
  expect(hostile.hub.stats.repairs).toBe(0);
  await world.broker.main.reconnect();
  expect(await reading).toBe(await expectedFrames(world, ref));
});

test("readers see everything, once, across a crash of the broker", async () => {
  await using world = await openWorld();
  using hostile = hostileHub(world, () => "pass");
  const runs = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const ref = newRef();
      const appender = await begin(world, ref);
      return { ref, appender, reading: follow(await hostile.hub.open(ref)) };
    }),
  );
  for (const { appender } of runs) for (let i = 0; i < 5; i++) await appendOne(appender, delta("before "));
  for (const { appender } of runs) appender.append(delta("meanwhile "));
  await world.server.kill("SIGKILL");
  await world.server.restart();
  await Promise.all(runs.map(({ appender }) => finish(appender, 20)));
  for (const { ref, reading } of runs) expect(await reading).toBe(await expectedFrames(world, ref));
});
