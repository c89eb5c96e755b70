import { retryRejected } from "@reprise/async";
import { readAllMessages } from "@reprise/broker";
import {
  asSeq,
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  isTerminal,
  parseLogSubject,
  RepriseError,
  STREAM_START,
} from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { FactStore } from "../facts/fact-store.ts";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";
import { LanePlaces } from "./lane-places.ts";
import { LaneProgress } from "./lane-progress.ts";

const STREAM = "GENERATIONS_0";
const US_PER_MS = 1_000;

async function append(world: LaneWorld, ref: GenerationRef, drafts: readonly EventDraft[], fromSeq = 0) {
  for (const [i, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(fromSeq + i), draft));
}

async function appendWhole(world: LaneWorld): Promise<GenerationRef> {
  const ref = createRef();
  await append(world, ref, [requested(ref), started(), delta("a"), completed()]);
  return ref;
}

/** When the generations of the stream ended, by the broker's clock. Waits for a broker that was restarted. */
function endsOf(world: LaneWorld): Promise<Map<string, number>> {
  const isAway = (error: unknown) => error instanceof RepriseError && error.retryable;
  return retryRejected(() => readEnds(world), isAway, { pauseMs: 50, budgetMs: 60_000 });
}

async function readEnds({ broker }: LaneWorld): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  const all = { afterStreamSeq: STREAM_START, maxMessages: 1_000, maxBytes: 1_000_000, subject: ">" };
  for await (const { subject, payload, storedAtUs } of readAllMessages(broker.reads, STREAM, all))
    if (isTerminal(decodeEvent(payload).type)) ends.set(parseLogSubject(subject).generation, storedAtUs);
  return ends;
}

/** A process that knows only the store, and may run lanes. */
function openProgress(world: LaneWorld, facts: Pick<FactStore, "newest"> = world.facts) {
  const places = new LanePlaces(facts);
  const progress = new LaneProgress({ connection: world.broker.reads, places, freshMs: 0 });
  const untilUs = async () => {
    const until = await progress.completeUntil([STREAM]);
    return until === null ? undefined : Date.parse(until) * US_PER_MS;
  };
  return { places, progress, untilUs };
}

/** @returns up to when rows were said to be whole; fails where one is missing that ended before that */
async function expectTrue(world: LaneWorld, untilUs: () => Promise<number | undefined>): Promise<number> {
  const until = await untilUs();
  const rows = new Set((await world.rows()).map(({ generation }) => generation));
  const missing = [...(await endsOf(world))].filter(
    ([generation, endedUs]) => until !== undefined && endedUs < until && !rows.has(generation),
  );
  expect(missing).toEqual([]);
  return until ?? 0;
}

test("an idle stream is whole until now, for its own process and for any other, and after a restart", async () => {
  await using world = await openLaneWorld();
  const own = openProgress(world);
  const beforeUs = Date.now() * US_PER_MS;
  expect(await own.untilUs()).toBeGreaterThanOrEqual(beforeUs);
  await using lane = world.start({ onCommitted: ({ position }) => own.places.committed(STREAM, position) });
  await appendWhole(world);
  const endUs = Math.max(...(await endsOf(world)).values());
  await expect.poll(() => expectTrue(world, own.untilUs)).toBeGreaterThan(endUs);
  const first = await own.untilUs();
  await expect.poll(own.untilUs).toBeGreaterThan(first ?? Infinity);
  await lane.stop();
  const other = openProgress(world);
  expect(await expectTrue(world, other.untilUs)).toBeGreaterThan(first ?? Infinity);
  expect(other.progress.unreadRatio).toBe(0);
});

test("while nothing is committed the time is that of the oldest event without a row, and is true again after a restart", async () => {
  await using world = await openLaneWorld();
  const own = openProgress(world);
  await using lane = world.start({ onCommitted: ({ position }) => own.places.committed(STREAM, position) });
  await appendWhole(world);
  await expect.poll(async () => (await world.rows()).length).toBe(1);
  await lane.stop();
  const ref = createRef();
  await append(world, ref, [requested(ref), started(), delta("a"), completed()]);
  const frozen = openProgress(world);
  const [unreadUs, until] = [await own.untilUs(), await expectTrue(world, frozen.untilUs)];
  expect(until).toBe(unreadUs);
  await appendWhole(world);
  expect(await expectTrue(world, own.untilUs)).toBe(until);
  expect(await expectTrue(world, frozen.untilUs)).toBe(until);
  expect(frozen.progress.unreadRatio).toBeGreaterThan(0);
  await using _ = world.start();
  await expect.poll(() => expectTrue(world, openProgress(world).untilUs)).toBeGreaterThan(until);
  await expect.poll(async () => (await world.rows()).length).toBe(3);
});

test("under traffic, with a commit that fails now and then and lanes that come and go, no row is missing that ended before", async () => {
  await using world = await openLaneWorld();
  let isWriting = true;
  const writing = (async () => {
    for (let i = 0; i < 25; i++) await appendWhole(world);
    isWriting = false;
  })();
  const other = openProgress(world);
  for (let call = 0; isWriting; call++) {
    const own = openProgress(world);
    const onCommitted = ({ position }: { position: Parameters<LanePlaces["committed"]>[1] }) =>
      own.places.committed(STREAM, position);
    await using lane = world.start({ facts: world.dying(4 + (call % 9), "after"), onCommitted });
    await expect.poll(() => lane.errors.length > 0 || lane.batches.length > 2 || !isWriting).toBe(true);
    await expectTrue(world, own.untilUs);
    await expectTrue(world, other.untilUs);
    await lane.stop();
  }
  await writing;
  await using _ = world.start();
  const endUs = Math.max(...(await endsOf(world)).values());
  await expect.poll(() => expectTrue(world, openProgress(world).untilUs)).toBeGreaterThan(endUs);
});

test("a stream that has lost its end and continues is not whole beyond what it has kept", async () => {
  await using world = await openLaneWorld();
  const own = openProgress(world);
  const lane = world.start({ onCommitted: ({ position }) => own.places.committed(STREAM, position) });
  await appendWhole(world);
  await world.server.snapshotStore();
  await appendWhole(world);
  await expect.poll(async () => (await world.rows()).length).toBe(2);
  await lane.stop();
  await world.server.restoreStore();
  await appendWhole(world);
  await appendWhole(world);
  const firstEndUs = Math.min(...(await endsOf(world)).values());
  expect(await expectTrue(world, own.untilUs)).toBeLessThanOrEqual(firstEndUs);
  expect(await expectTrue(world, openProgress(world).untilUs)).toBeLessThanOrEqual(firstEndUs);
  await using _ = world.start();
  const lastEndUs = Math.max(...(await endsOf(world)).values());
  await expect.poll(() => expectTrue(world, openProgress(world).untilUs)).toBeGreaterThan(lastEndUs);
});

test("a stream of which no commit is known is whole until it was made, and all of it waits", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await append(world, ref, [requested(ref), started()]);
  const newest = () => Promise.reject(new RepriseError("archive_unavailable", "The store is away."));
  const { untilUs, progress } = openProgress(world, { newest });
  expect(await untilUs()).toBeLessThan(Date.now() * US_PER_MS);
  expect(progress.unreadRatio).toBeGreaterThan(0);
  expect(progress.unreadRatio).toBeLessThan(1);
});

test("the streams of a platform are whole until the first of them is; one that can't be read is not known", async () => {
  await using world = await openLaneWorld();
  const { progress } = openProgress(world);
  expect(await progress.completeUntil([STREAM, "OPS"])).toMatch(/^\d{4}-.*Z$/);
  expect(await progress.completeUntil([STREAM, "GENERATIONS_99"])).toBeNull();
});
