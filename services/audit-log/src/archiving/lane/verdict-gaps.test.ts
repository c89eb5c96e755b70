import { findLaneStart, LaneReader } from "@reprise/facts/lane";
import { readStreamInfo } from "@reprise/broker";
import {
  encodeVerdict,
  type GenerationRef,
  VERDICTS_STREAM,
  verdictSubject,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type LaneWorld, openLaneWorld } from "../../testing/worlds/lane-world.ts";
import { createHistory } from "./lane-archiver.ts";

const stream = VERDICTS_STREAM;

/** Moderation's verdicts on a generation, each in place of the one before. */
async function judge(world: LaneWorld, ref: GenerationRef, times: number): Promise<void> {
  for (let judged = 1; judged <= times; judged++)
    await world.publish(
      verdictSubject(ref),
      encodeVerdict({ judged: asSeq(judged), cleared: asSeq(judged), decided: asSeq(0) }),
    );
}

function factsOf({ broker }: LaneWorld) {
  return readStreamInfo(broker.reads, stream);
}

test("a verdict in whose place there is a newer one is no gap", async () => {
  await using world = await openLaneWorld({ stream });
  await judge(world, createRef(), 3);
  await using lane = await world.startArchiver();
  const { last, events, gaps, skipped } = await lane.until(({ last: end }) => end === 3);
  expect({ last, events, gaps, skipped }).toEqual({ last: 3, events: 1, gaps: [], skipped: [[1, 2]] });
  expect((await world.verify()).code).toBe(0);
});

test("verdicts that had expired before they were archived are a gap", async () => {
  await using world = await openLaneWorld({ stream, retentionMs: 1_000 });
  await judge(world, createRef(), 2);
  await judge(world, createRef(), 1);
  await expect.poll(async () => (await factsOf(world)).firstStreamSeq).toBe(4);
  await using lane = await world.startArchiver();
  const { events, gaps, skipped } = await lane.until(({ last }) => last === 3);
  expect({ events, gaps, skipped }).toEqual({ events: 0, gaps: [[1, 3]], skipped: [] });
  expect((await world.verify()).code).toBe(3);
});

/** Opens a reader of verdicts after a place that was archived at this time: very long ago by default. */
async function openReader(world: LaneWorld, sinceUs = 0): Promise<LaneReader> {
  const { created } = await factsOf(world);
  const limits = { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 };
  return new LaneReader(
    world.broker.reads,
    stream,
    { epoch: 0, created, after: asStreamSeq(0), sinceUs },
    limits,
  );
}

test("what is missing and could be older than the retention time may have expired", async () => {
  await using world = await openLaneWorld({ stream });
  const reader = await openReader(world);
  await judge(world, createRef(), 3);
  const { batch } = await reader.next(new AbortController().signal);
  expect(batch).toMatchObject({ last: 3, missing: [[1, 2]], maybeExpired: [[1, 2]] });
});

test.each([
  { what: "may have expired up to a minute", sooner: 30, maybeExpired: [[1, 2]] },
  { what: "has not expired minutes", sooner: 600, maybeExpired: [] },
])(
  "what is missing $what before the retention time is over: another server's clock may be behind",
  async ({ sooner, maybeExpired }) => {
    await using world = await openLaneWorld({ stream });
    const { atUs, maxAgeUs } = await factsOf(world);
    const reader = await openReader(world, atUs - maxAgeUs + sooner * 1_000_000);
    await judge(world, createRef(), 3);
    const { batch } = await reader.next(new AbortController().signal);
    expect(batch).toMatchObject({ last: 3, missing: [[1, 2]], maybeExpired });
  },
);

test("what is missing after a place where the stream was seen to end lately has not expired, however old that place is", async () => {
  await using world = await openLaneWorld({ stream });
  const reader = await openReader(world);
  const looking = new AbortController();
  const seen = reader.next(looking.signal);
  looking.abort();
  expect(await seen).toEqual({ batch: undefined });
  await judge(world, createRef(), 3);
  const { batch } = await reader.next(new AbortController().signal);
  expect(batch).toMatchObject({ last: 3, missing: [[1, 2]], maybeExpired: [] });
});

test("what is missing after a message that has just been read has not expired", async () => {
  await using world = await openLaneWorld({ stream });
  const reader = await openReader(world);
  await judge(world, createRef(), 1);
  await judge(world, createRef(), 3);
  const { batch } = await reader.next(new AbortController().signal);
  expect(batch).toMatchObject({ last: 4, missing: [[2, 3]], maybeExpired: [] });
});

test("an archiver that begins where the stream ends knows that what comes is young", async () => {
  await using world = await openLaneWorld({ stream });
  await judge(world, createRef(), 1);
  await using lane = await world.startArchiver();
  const { last_at: lastAtUs } = await lane.until(({ last }) => last === 1);
  const begin = () => findLaneStart(world.broker.reads, createHistory(lane.archive), stream);
  expect((await begin()).sinceUs).toBeGreaterThan(lastAtUs);
  await lane.stop();
  await judge(world, createRef(), 1);
  expect((await begin()).sinceUs).toBe(lastAtUs);
});
