import { DEFAULT_POLICY } from "@reprise/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Appender } from "./appender.ts";
import { AppendPressure, type Chunking, chunkingOf } from "./chunking.ts";
import { appenderOf, completed, delta, newRef, openWorld, started, type World } from "../testing/world.ts";
import { readBack } from "../testing/read-back.ts";

let world: World;

beforeEach(async () => {
  world = await openWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

/** A hold that no clock ends. */
const held = (more: Partial<Chunking> = {}): Chunking => ({
  holdMs: 1e6,
  maxTokens: Number.POSITIVE_INFINITY,
  stored() {},
  ...more,
});

const atSeq = (appender: Appender, seq: number) =>
  vi.waitFor(() => expect(appender.head.seq).toBe(seq), { timeout: 120_000 });

/** An appender that has stored a first delta. */
async function begun(chunking: Chunking | undefined) {
  const ref = newRef();
  const publish = vi.fn(world.log.publish);
  const appender = appenderOf(world.log, ref, { chunking, publish });
  appender.append(delta("first "));
  await atSeq(appender, 0);
  const texts = async () =>
    (await readBack(world.log, ref)).map((event) => ("text" in event ? event.text : event.type));
  return { ref, appender, publish, texts };
}

test("stores the first delta at once, holds further ones, and stores these as one event", async () => {
  const { appender, publish, texts } = await begun(held());
  for (const text of "abc") appender.append(delta(text));
  expect(publish).toHaveBeenCalledTimes(1);
  await appender.settled();
  expect(await texts()).toEqual(["first ", "abc"]);
});

test("stores the first delta of each attempt at once", async () => {
  const { appender, texts } = await begun(held());
  appender.append(started(2));
  await atSeq(appender, 1);
  appender.append(delta("again "));
  await atSeq(appender, 2);
  for (const text of "ab") appender.append(delta(text));
  await appender.settled();
  expect(await texts()).toEqual(["first ", "generation.started", "again ", "ab"]);
});

test("an event of another kind ends the hold", async () => {
  const { appender, texts } = await begun(held());
  for (const draft of [delta("a"), delta("b"), completed()]) appender.append(draft);
  await atSeq(appender, 2);
  expect(await texts()).toEqual(["first ", "ab", "generation.completed"]);
});

test("a hold ends with the policy's number of tokens", async () => {
  const { appender, texts } = await begun(held({ maxTokens: 2 }));
  for (const text of "ab") appender.append(delta(text));
  await atSeq(appender, 1);
  expect(await texts()).toEqual(["first ", "ab"]);
});

test("a hold ends when its time is over", async () => {
  const { appender } = await begun(held({ holdMs: 1 }));
  appender.append(delta("a"));
  await atSeq(appender, 1);
});

test("another writer's event ends the hold", async () => {
  const { ref, appender } = await begun(held());
  appender.append(delta("a"));
  const other = appenderOf(world.log, ref, { head: appender.head });
  other.append(completed());
  await other.settled();
  appender.observe(other.head.seq);
  await atSeq(appender, 1);
});

test("without chunking every delta goes out as soon as the one before is stored", async () => {
  const { appender, publish } = await begun(undefined);
  appender.append(delta("a"));
  expect(publish).toHaveBeenCalledTimes(2);
  await appender.settled();
});

test("a policy names its chunking: off, under pressure, or fixed", () => {
  const pressure = new AppendPressure();
  expect(chunkingOf({ ...DEFAULT_POLICY, chunking: "off" }, pressure)).toBeUndefined();
  expect(chunkingOf({ ...DEFAULT_POLICY, chunking: "auto" }, pressure)).toBe(pressure);
  const fixed = { max_ms: 7, max_tokens: 3 };
  expect(chunkingOf({ ...DEFAULT_POLICY, chunking: fixed }, pressure)).toMatchObject({
    holdMs: 7,
    maxTokens: 3,
  });
});

describe("pressure", () => {
  /** Stores appends of one duration, a millisecond apart, and returns the hold. */
  function storing() {
    const pressure = new AppendPressure();
    let nowMs = 0;
    return (ms: number, { appends = 10_000, afterMs = 1 } = {}) => {
      nowMs += afterMs - 1;
      for (let i = 0; i < appends; i++) pressure.stored(ms, ++nowMs);
      return pressure.holdMs;
    };
  }

  test("holds nothing while appends take about as long as the fastest, and up to 40 ms when they are late", () => {
    const store = storing();
    expect(store(2)).toBe(0);
    expect(store(6)).toBe(0);
    expect(store(8)).toBeCloseTo(20, 0);
    expect(store(30)).toBe(40);
    expect(store(2)).toBe(0);
  });

  test("is not made by one append that takes long, nor by a broker that stays slow", () => {
    const store = storing();
    expect(store(1)).toBe(0);
    expect(store(10_000, { appends: 1 })).toBe(0);
    store(25, { appends: 60_000 });
    expect(store(25)).toBe(0);
  });

  test("is over after a silence", () => {
    const store = storing();
    store(1);
    expect(store(30)).toBe(40);
    expect(store(1, { appends: 1, afterMs: 2_000 })).toBe(0);
  });
});
