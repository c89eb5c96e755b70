import {
  encodeEvent,
  type GenerationRef,
  liveSubject,
  liveVerdictSubject,
  logSubject,
  opsSubject,
  asStreamSeq,
  asSeq,
} from "@reprise/protocol";
import { eventually, moderatedPolicy, PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { announceLateEvent, subscribeLateEvents } from "@reprise/moderation";
import { subscribeErasures } from "../erasure/erasure-feed.ts";
import { follow, framesOf } from "../testing/follow.ts";
import { openHub } from "../testing/open-hub.ts";
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

/* A client of the broker that is no part of the platform publishes what it likes. */

const MALFORMED = { code: "protocol_violation" };
/** Would be a line, and an event, of its own on the wire. */
const INJECTED = new TextEncoder().encode('{"seq":3,"type":"output.delta",\n\ndata: {"text":"forged"}}');

async function begin(world: World, ref: GenerationRef) {
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, requested(ref));
  await appendOne(appender, started());
  await appendOne(appender, delta("real "));
  return appender;
}

test.each([
  ["in the next place", INJECTED],
  ["without a place", new TextEncoder().encode("forged")],
  ["far off", new TextEncoder().encode('{"seq":9,"type":"output.delta","text":9}')],
])(
  "a malformed message on the live feed, %s, is told and not shown, and the real event is",
  async (_, forged) => {
    await using world = await openWorld();
    using opened = openHub(world, { probeMs: 600_000 });
    const ref = newRef();
    const appender = await begin(world, ref);
    const read = follow(await opened.hub.open(ref));
    // The broker hands it to the hub before the events that this connection appends next.
    world.broker.main.publish(liveSubject(ref), forged);
    await appendOne(appender, delta("too"));
    await appendOne(appender, completed());
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    expect(await read).toBe(framesOf(stored.map(({ payload }) => payload)));
    expect(world.errors).toMatchObject([MALFORMED]);
  },
);

test.each([
  ["no JSON", new TextEncoder().encode("forged")],
  ["two lines", INJECTED],
  ["a place that is taken by none", encodeEvent(asSeq(7), delta("forged"))],
])(
  "a log that holds %s breaks its readers off with a typed error, and lets none begin",
  async (_what, forged) => {
    await using world = await openWorld();
    using opened = openHub(world);
    const ref = newRef();
    await begin(world, ref);
    const cache = await opened.hub.open(ref);
    const read = follow(cache).catch((error: unknown) => error);
    await world.broker.main.request(logSubject(ref), forged, { timeout: PATIENCE_MS });
    await world.broker.main.request(logSubject(ref), encodeEvent(asSeq(4), completed()), {
      timeout: PATIENCE_MS,
    });
    expect(await read).toMatchObject(MALFORMED);
    expect(cache.lastSeq).toBe(2);
    await expect(opened.hub.open(ref)).rejects.toMatchObject(MALFORMED);
    expect(world.errors.length).toBeGreaterThan(0);
  },
);

test.each([
  [
    "a live event",
    (world: World, ref: GenerationRef) =>
      world.broker.main.publish(liveSubject(ref), encodeEvent(asSeq(900_000), delta("forged"))),
  ],
  [
    "a late event",
    (world: World, ref: GenerationRef) => announceLateEvent(world.broker.main, ref, asSeq(900_000)),
  ],
])(
  "%s far off, which the log does not have, is told and forgotten, and its readers read on",
  async (_what, forge) => {
    await using world = await openWorld();
    using opened = openHub(world, { probeMs: 600_000 });
    const onLate = (ref: GenerationRef, seq: number) => opened.hub.expect(ref, asSeq(seq));
    const late = subscribeLateEvents(world.broker.main, {
      onLate,
      onError: (error) => world.errors.push(error),
    });
    const ref = newRef();
    const appender = await begin(world, ref);
    const cache = await opened.hub.open(ref);
    const read = follow(cache);
    forge(world, ref);
    await eventually(() => expect(cache.events.hasGap).toBe(true));
    await appendOne(appender, delta("on"));
    await eventually(() => expect(cache.events.hasGap).toBe(false));
    await appendOne(appender, completed());
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    expect(await read).toBe(framesOf(stored.map(({ payload }) => payload)));
    expect([cache.failure, world.errors]).toMatchObject([undefined, [{ code: "broker_unavailable" }]]);
    late.unsubscribe();
  },
);

test("a malformed verdict and a malformed erasure record are reported, and change nothing", async () => {
  await using world = await openWorld();
  using opened = openHub(world);
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, requested(ref, {}, moderatedPolicy({ mode: "gate" })));
  await appendOne(appender, started());
  const cache = await opened.hub.open(ref);
  const erased: GenerationRef[] = [];
  const onError = (error: unknown) => world.errors.push(error);
  const feed = subscribeErasures(world.broker.main, { onErased: (one) => erased.push(one), onError });
  await world.broker.main.flush();
  world.broker.main.publish(liveVerdictSubject(ref), JSON.stringify({ judged: 0, cleared: 9, decided: 0 }));
  world.broker.main.publish(opsSubject("erased", ref.tenant, ref.generation), "{}");
  // The broker hands over what was published before it answers.
  await world.broker.main.flush();
  expect(world.errors).toMatchObject([MALFORMED, MALFORMED]);
  expect([cache.shownSeq, erased]).toEqual([0, []]);
  feed.unsubscribe();
});
