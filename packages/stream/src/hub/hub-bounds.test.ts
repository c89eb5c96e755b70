import { asSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { openHub } from "../testing/open-hub.ts";
import { appendOne, delta, newRef, openWorld, writeLog } from "../testing/world.ts";

test("drops caches without readers when memory runs short, the longest unused first", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { maxBytes: 100_000 });
  const refs = Array.from({ length: 5 }, () => newRef());
  for (const ref of refs) {
    const appender = await writeLog(world.log, ref, 1);
    await appendOne(appender, delta("x".repeat(30_000)));
  }
  for (const ref of refs) await opened.hub.open(ref);
  await eventually(() => expect(opened.hub.stats.bytes).toBeLessThanOrEqual(100_000));
  expect(opened.feed.subscriptions.map((live) => live.isClosed())).toEqual([true, true, false, false, false]);
});

test("a long cache that is read loses its head when memory runs short, and the log has what is gone", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { maxBytes: 200_000 });
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 1);
  for (let i = 0; i < 200; i++) await appendOne(appender, delta("x".repeat(5_000)));
  const cache = await opened.hub.open(ref);
  cache.listen(() => {});
  await eventually(() => expect(opened.hub.stats.bytes).toBeLessThanOrEqual(200_000));
  expect(cache.shown.frames.firstSeq).toBeGreaterThan(1);
  expect(cache.shown.view(asSeq(1), 1_000)).toBeUndefined();
  expect(cache.lastSeq).toBe(201);
  const { events } = await world.log.reader.readBatch(ref, cache.events.streamSeqBefore(asSeq(1)));
  expect(events.length).toBeGreaterThan(1);
});

test("however many generations are opened at once, few logs are in memory beside the caches", async () => {
  await using world = await openWorld();
  const { reader } = world.log;
  let loading = 0;
  let most = 0;
  const readLog: typeof reader.readLog = async (ref) => {
    most = Math.max(most, ++loading);
    return reader.readLog(ref).finally(() => loading--);
  };
  using opened = openHub(world, { reader: { ...reader, readLog } });
  const refs = Array.from({ length: 60 }, () => newRef());
  await Promise.all(refs.map((ref) => writeLog(world.log, ref, 1)));
  const missing = Array.from({ length: 20 }, () => opened.hub.open(newRef()).catch(() => undefined));
  const tails = await Promise.all(refs.map((ref) => opened.hub.open(ref)));
  expect(tails.map(({ lastSeq }) => lastSeq)).toEqual(Array(60).fill(1));
  expect(await Promise.all(missing)).toEqual(Array(20).fill(undefined));
  expect(most).toBe(16);
});

test("the budget holds right after a log was read, and the caller that opened it has its cache", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { maxBytes: 200_000, probeMs: 600_000 });
  const refs = Array.from({ length: 2 }, () => newRef());
  for (const ref of refs) {
    const appender = await writeLog(world.log, ref, 1);
    for (let i = 0; i < 30; i++) await appendOne(appender, delta("x".repeat(30_000)));
  }
  for (const ref of refs) {
    const cache = await opened.hub.open(ref);
    expect(opened.hub.stats.bytes).toBeLessThanOrEqual(200_000);
    expect([cache.failure, cache.lastSeq]).toEqual([undefined, 31]);
  }
});

test("a caller that waits too long for a turn to read a log gets a retryable error", async () => {
  await using world = await openWorld();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const failure = new Error("the broker is mute");
  const readLog = () =>
    released.then(() => {
      throw failure;
    });
  using opened = openHub(world, { reader: { ...world.log.reader, readLog }, probeMs: 600_000 });
  const first = Array.from({ length: 16 }, () => opened.hub.open(newRef()));
  const late = opened.hub.open(newRef());
  const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_001);
  onTestFinished(() => now.mockRestore());
  release();
  // Together, for the late one has its turn as soon as the first of the others has failed.
  const [busy, ...outcomes] = await Promise.allSettled([late, ...first]);
  expect(outcomes).toEqual(first.map(() => ({ status: "rejected", reason: failure })));
  expect(busy).toMatchObject({
    status: "rejected",
    reason: { code: "broker_unavailable", message: expect.stringContaining("busy") },
  });
});
