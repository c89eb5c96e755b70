import {
  encodeEvent,
  type GenerationRef,
  logSubject,
  asSeq,
  asStreamSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  appenderOf,
  appendOne,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
  type World,
} from "../testing/world.ts";
import { bufferLiveFeed } from "./open-generation-cache.ts";
import { follow, framesOf } from "../testing/follow.ts";
import { openHub } from "../testing/open-hub.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const unread = async () => expect.unreachable("the log was read");

/** Listens to a generation that is about to be created. */
function expectHere({ feed: { connection } }: ReturnType<typeof openHub>, ref: GenerationRef) {
  return bufferLiveFeed({ connection, onError: (error) => world.errors.push(error) }, ref);
}

/** Stores a request as its creator does. */
async function create(ref: GenerationRef) {
  const payload = encodeEvent(asSeq(0), requested(ref));
  const outcome = await world.log.publish(logSubject(ref), payload, {
    expectedLast: asStreamSeq(0),
    writer: "creator",
  });
  if (outcome.kind !== "stored") throw new Error(outcome.kind);
  return { events: [payload], streamSeq: outcome.streamSeq };
}

test("a generation that was expected here is opened without reading its log, with all that came before and after", async () => {
  const reader = { ...world.log.reader, readLog: unread, readTail: unread };
  using opened = openHub(world, { reader, probeMs: 60_000 });
  const ref = newRef();
  using listening = expectHere(opened, ref);
  const snapshot = await create(ref);
  const head = { seq: REQUEST_SEQ, payload: snapshot.events[0]!, streamSeq: snapshot.streamSeq };
  const worker = appenderOf(world.log, ref, { head });
  for (const draft of [started(), delta("before")]) await appendOne(worker, draft);
  const reading = follow(await opened.hub.open(ref, { listening, snapshot }));
  listening[Symbol.dispose]();
  for (const draft of [delta("after"), completed()]) await appendOne(worker, draft);
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(await reading).toBe(framesOf(stored.map(({ payload }) => payload)));
  expect([stored.length, opened.hub.stats.repairs, world.errors]).toEqual([5, 0, []]);
});

test("what the feed shows in excess before the generation is opened is read from the log", async () => {
  using opened = openHub(world, { probeMs: 60_000 });
  const ref = newRef();
  using listening = expectHere(opened, ref);
  const snapshot = await create(ref);
  const head = { seq: REQUEST_SEQ, payload: snapshot.events[0]!, streamSeq: snapshot.streamSeq };
  const worker = appenderOf(world.log, ref, { head });
  for (let i = 0; i < 140; i++) await appendOne(worker, i === 0 ? started() : delta(`${i} `));
  await appendOne(worker, completed());
  await world.broker.main.flush();
  const cache = await opened.hub.open(ref, { listening, snapshot });
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(await follow(cache)).toBe(framesOf(stored.map(({ payload }) => payload)));
  expect([stored.length, opened.hub.stats.repairs, world.errors]).toEqual([142, 1, []]);
});

test("a feed that its creator has ended before the hub takes it over is replaced by another one", async () => {
  using opened = openHub(world, { probeMs: 60_000 });
  const ref = newRef();
  const listening = expectHere(opened, ref);
  const snapshot = await create(ref);
  listening[Symbol.dispose]();
  const reading = follow(await opened.hub.open(ref, { listening, snapshot }));
  const head = { seq: REQUEST_SEQ, payload: snapshot.events[0]!, streamSeq: snapshot.streamSeq };
  const worker = appenderOf(world.log, ref, { head });
  for (const draft of [started(), delta("after"), completed()]) await appendOne(worker, draft);
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(await reading).toBe(framesOf(stored.map(({ payload }) => payload)));
  expect([stored.length, opened.hub.stats.repairs, world.errors]).toEqual([4, 0, []]);
});

test("a generation that was expected and not created is not listened to any more", async () => {
  using opened = openHub(world);
  const listening = expectHere(opened, newRef());
  expect(opened.isListening()).toBe(true);
  listening[Symbol.dispose]();
  expect(opened.isListening()).toBe(false);
});
