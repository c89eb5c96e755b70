import { type GenerationRef, asStreamSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { follow, framesOf } from "../testing/follow.ts";
import { openHub } from "../testing/open-hub.ts";
import { appendOne, completed, delta, newRef, openWorld, type World, writeLog } from "../testing/world.ts";

afterEach(() => void vi.useRealTimers());

/** Caches then grow old when a test says so. */
const stopClock = () => vi.useFakeTimers({ toFake: ["performance"] });

async function expectedFrames(world: World, ref: GenerationRef): Promise<string> {
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  return framesOf(stored.map(({ payload }) => payload)).replaceAll(/^1-/gm, "0-");
}

test("callers that open a generation at once share one cache and one subscription", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await writeLog(world.log, ref, 10);
  const tails = await Promise.all(Array.from({ length: 20 }, () => opened.hub.open(ref)));
  expect(new Set(tails).size).toBe(1);
  expect(await opened.hub.open(ref)).toBe(tails[0]);
  expect(opened.feed.subscriptions).toHaveLength(1);
});

test("a generation that does not exist is not found, and leaves neither a subscription nor a cache", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  await expect(opened.hub.open(newRef())).rejects.toMatchObject({ code: "generation_not_found" });
  expect([opened.isListening(), opened.hub.stats.caches]).toEqual([false, 0]);
});

test("a generation that was not found is found once it exists", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await expect(opened.hub.open(ref)).rejects.toMatchObject({ code: "generation_not_found" });
  await writeLog(world.log, ref, 2);
  expect((await opened.hub.open(ref)).lastSeq).toBe(2);
});

test("another tenant does not find a generation, not even while it is served", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef("acme");
  await writeLog(world.log, ref, 2);
  await opened.hub.open(ref);
  const foreign = { ...newRef("rival"), generation: ref.generation };
  await expect(opened.hub.open(foreign)).rejects.toMatchObject({ code: "generation_not_found" });
});

test("without a broker opening fails, and the caller may try again", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await writeLog(world.log, ref, 2);
  await world.server.stop();
  await expect(opened.hub.open(ref)).rejects.toMatchObject({ code: "broker_unavailable" });
  expect([opened.isListening(), opened.hub.stats.caches]).toEqual([false, 0]);
  await world.server.restart();
  const cache = await eventually(() => opened.hub.open(ref));
  expect(cache.lastSeq).toBe(2);
});

test("a generation that has ended is served from memory without a subscription", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await appendOne(await writeLog(world.log, ref, 10), completed());
  expect(await follow(await opened.hub.open(ref))).toBe(await expectedFrames(world, ref));
  expect([opened.isListening(), opened.hub.stats.caches]).toEqual([false, 1]);
});

test("the subscription ends with the generation", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 3);
  const reading = follow(await opened.hub.open(ref));
  expect(opened.isListening()).toBe(true);
  await appendOne(appender, completed());
  expect(await reading).toBe(await expectedFrames(world, ref));
  expect(opened.isListening()).toBe(false);
});

test("drops a cache without readers after a while, and keeps one that is read", async () => {
  await using world = await openWorld();
  stopClock();
  using opened = openHub(world, { lingerMs: 100 });
  const [read, unread] = [newRef(), newRef()];
  await writeLog(world.log, read, 1);
  await writeLog(world.log, unread, 1);
  (await opened.hub.open(read)).listen(() => {});
  await opened.hub.open(unread);
  expect(opened.hub.stats.caches).toBe(2);
  vi.advanceTimersByTime(101);
  await eventually(() => expect(opened.hub.stats.caches).toBe(1));
  expect(opened.feed.subscriptions.map((live) => live.isClosed())).toEqual([false, true]);
});

test("a log that has ended is read again after a while, since it may have expired, though readers keep asking for it", async () => {
  await using world = await openWorld();
  stopClock();
  using opened = openHub(world, { lingerMs: 500 });
  const ref = newRef();
  await appendOne(await writeLog(world.log, ref, 1), completed());
  const cache = await opened.hub.open(ref);
  expect(await opened.hub.open(ref)).toBe(cache);
  vi.advanceTimersByTime(501);
  expect(await opened.hub.open(ref)).not.toBe(cache);
  expect(cache.failure).toBeUndefined();
});

test("a dropped cache tells its remaining readers its failure", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { lingerMs: 20 });
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const cache = await opened.hub.open(ref);
  await eventually(() => expect(opened.hub.stats.caches).toBe(0));
  await expect(follow(cache)).rejects.toMatchObject({ code: "broker_unavailable" });
  expect((await opened.hub.open(ref)).failure).toBeUndefined();
});

test("a reader that throws is reported and keeps nothing from the others", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 1);
  const cache = await opened.hub.open(ref);
  const defect = new Error("a defect in a reader");
  cache.listen(() => {
    throw defect;
  });
  const reading = follow(cache);
  await appendOne(appender, completed());
  expect(await reading).toBe(await expectedFrames(world, ref));
  expect(world.errors).toContain(defect);
});

test("an open that was under way when the hub closed leaves no subscription", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const opening = opened.hub.open(ref);
  opened.hub.close();
  await expect(opening).rejects.toMatchObject({ code: "draining" });
  expect(opened.isListening()).toBe(false);
});

test("what a replica that lags does not show, the leader tells", async () => {
  await using world = await openWorld();
  const readTail = () => Promise.resolve([]);
  using opened = openHub(world, { reader: { ...world.log.reader, readTail }, probeMs: 600_000 });
  opened.mute();
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 3);
  const cache = await opened.hub.open(ref);
  await appendOne(appender, delta("unseen"));
  await opened.hub.refresh(cache);
  expect(cache.lastSeq).toBe(3);
  await opened.hub.refreshFromLeader(cache);
  expect(cache.lastSeq).toBe(4);
});
