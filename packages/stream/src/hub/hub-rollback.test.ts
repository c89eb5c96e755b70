import {
  type EventDraft,
  type GenerationRef,
  liveSubject,
  peekSeq,
  RepriseError,
  asStreamSeq,
  asSeq,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Appender } from "../append/appender.ts";
import { headOf } from "../read/log-head.ts";
import { follow, framesOf } from "../testing/follow.ts";
import { openHub } from "../testing/open-hub.ts";
import {
  appendOne,
  appenderOf,
  completed,
  delta,
  newRef,
  openWorld,
  openWorldsToRollBack,
  openWorldToRollBack,
  requested,
  started,
  type World,
} from "../testing/world.ts";

const LOST = { code: "events_lost", retryable: false };
const lostLog: EventDraft = {
  type: "generation.started",
  attempt: 2,
  worker: "w",
  model: "sim",
  reason: "log_lost",
};

async function begin(world: Pick<World, "log">, ref: GenerationRef): Promise<Appender> {
  const appender = appenderOf(world.log, ref);
  for (const draft of [requested(ref), started(), delta("a "), delta("b ")]) await appendOne(appender, draft);
  return appender;
}

/** An appender whose head is the log's last event as it is now. */
function takeUp(world: Pick<World, "log">, ref: GenerationRef): Promise<Appender> {
  return eventually(async () =>
    appenderOf(world.log, ref, { head: headOf(await world.log.reader.readLog(ref)) }),
  );
}

async function stored(world: Pick<World, "log">, ref: GenerationRef): Promise<Uint8Array[]> {
  return (await world.log.leader.readTail(ref, asStreamSeq(0))).map(({ payload }) => payload);
}

/** A generation that a reader follows, with events that the broker is about to lose. */
async function followedLog(world: Awaited<ReturnType<typeof openWorldToRollBack>>, hub: HubOf) {
  const ref = newRef();
  const writer = await begin(world, ref);
  await world.server.snapshotStore();
  const cache = await hub.open(ref);
  const reading = follow(cache);
  reading.catch(() => {});
  for (let i = 0; i < 5; i++) await appendOne(writer, delta(`lost ${i} `));
  await eventually(() => expect(cache.lastSeq).toBe(8));
  return { ref, cache, reading };
}
type HubOf = ReturnType<typeof openHub>["hub"];

test("readers of events that the store has lost are broken off before a worker takes over the log", async () => {
  await using world = await openWorldToRollBack();
  using opened = openHub(world);
  const { ref, reading } = await followedLog(world, opened.hub);
  await world.server.restoreStore();
  await expect(reading).rejects.toMatchObject(LOST);
  const again = await eventually(() => opened.hub.open(ref));
  expect([again.lastSeq, again.failure]).toEqual([3, undefined]);
});

test.each([1, 4, 5, 20])(
  "no reader is sent the successor of a lost event, when %i events have taken the place of five before the hub is back",
  async (count) => {
    await using worlds = await openWorldsToRollBack();
    const { server, proxy, direct, behindProxy } = worlds;
    const { reader } = behindProxy.log;
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const readTail: typeof reader.readTail = (...call) => heard.then(() => reader.readTail(...call));
    using opened = openHub(behindProxy, { reader: { ...reader, readTail }, probeMs: 600_000 });
    const { ref, cache, reading } = await followedLog({ ...direct, server }, opened.hub);
    proxy.setFaults({ toClient: { cutAfterBytes: 0 } });
    proxy.cutNow();
    await server.restoreStore();
    const other = await takeUp(direct, ref);
    await appendOne(other, lostLog);
    for (let i = 1; i < count; i++) await appendOne(other, delta(`new ${i} `));
    proxy.setFaults({});
    await eventually(() => behindProxy.broker.main.flush());
    // The live feed continues before the hub has read the log again.
    for (let i = 1; i < 3; i++) await appendOne(other, delta(`more ${i} `));
    await eventually(() => behindProxy.broker.main.flush());
    hear();
    await expect(reading).rejects.toMatchObject(LOST);
    expect(cache.lastSeq).toBe(8);

    const again = await eventually(() => opened.hub.open(ref));
    await appendOne(other, completed());
    const frames = (await follow(again)).replaceAll(/^2-/gm, "1-");
    expect(frames).toBe(framesOf(await stored(direct, ref)));
    expect(again.events.hasLost({ attempt: 1, seq: asSeq(8) })).toBe(true);
    expect(again.events.hasLost({ attempt: 1, seq: asSeq(3) })).toBe(false);
  },
);

test("an ended cache is served on after a lost connection only once the log was read again", async () => {
  await using world = await openWorldToRollBack();
  using opened = openHub(world);
  const ref = newRef();
  const writer = await begin(world, ref);
  await world.server.snapshotStore();
  await appendOne(writer, completed());
  const cache = await opened.hub.open(ref);
  expect([cache.ended, await opened.hub.open(ref)]).toEqual([true, cache]);
  await world.server.restoreStore();
  const again = await eventually(() => opened.hub.open(ref));
  expect([again.ended, again.lastSeq, cache.failure]).toEqual([false, 3, undefined]);
});

test("an ended cache is served while the broker does not answer", async () => {
  await using world = await openWorld();
  const { reader } = world.log;
  let refused = 0;
  let isAway = false;
  const unlessAway = <Answer>(read: () => Promise<Answer>): Promise<Answer> => {
    if (!isAway) return read();
    refused++;
    return Promise.reject(new RepriseError("broker_unavailable", "away"));
  };
  const readers: typeof reader = {
    ...reader,
    readTail: (...call) => unlessAway(() => reader.readTail(...call)),
    readBatch: (...call) => unlessAway(() => reader.readBatch(...call)),
  };
  using opened = openHub(world, { reader: readers });
  const ref = newRef();
  await appendOne(await begin(world, ref), completed());
  const cache = await opened.hub.open(ref);
  isAway = true;
  await eventually(async () => {
    expect(await opened.hub.open(ref)).toBe(cache);
    expect(refused).toBeGreaterThan(0);
  });
});

test("a connection that breaks, with nothing lost, is a pause for readers", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { probeMs: 600_000 });
  const ref = newRef();
  const writer = await begin(world, ref);
  const reading = follow(await opened.hub.open(ref));
  for (let i = 0; i < 5; i++) {
    await world.broker.main.reconnect();
    await eventually(() => appendOne(writer, delta(`${i} `)));
  }
  await appendOne(writer, completed());
  const seen = await reading;
  expect(seen.split("\n").filter((line) => line.startsWith("{"))).toHaveLength(
    (await stored(world, ref)).length - 1,
  );
});

test("a live event that differs from the log makes the hub read the log, and nothing more", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const writer = await begin(world, ref);
  const cache = await opened.hub.open(ref);
  const reading = follow(cache);
  const [, , known] = await stored(world, ref);
  const another = `${Buffer.from(known!).toString().slice(0, -1)},"x":1}`;
  world.broker.main.publish(liveSubject(ref), another);
  await world.broker.main.flush();
  await appendOne(writer, completed());
  await reading;
  expect([peekSeq(known!), cache.failure]).toEqual([2, undefined]);
});

test("a replica that lags behind a reader is no loss", async () => {
  await using world = await openWorld();
  const { reader, leader } = world.log;
  let lag = 0;
  const readTail: typeof reader.readTail = async (ref, after) => {
    const events = await reader.readTail(ref, after);
    return lag-- > 0 ? events.slice(0, -2) : events;
  };
  const readLast: typeof reader.readLast = async (ref) =>
    lag-- > 0 ? (await reader.readTail(ref, asStreamSeq(0))).at(-3) : reader.readLast(ref);
  using opened = openHub(world, { reader: { ...reader, readTail, readLast }, leader });
  const ref = newRef();
  const writer = await begin(world, ref);
  const reading = follow(await opened.hub.open(ref));
  lag = 12;
  await eventually(() => expect(opened.hub.stats.probes).toBeGreaterThan(2));
  await appendOne(writer, completed());
  await reading;
  expect(world.errors).toEqual([]);
});
