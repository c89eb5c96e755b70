import { ArchiveReader, type Lane } from "@reprise/archive";
import { readStreamInfo } from "@reprise/broker";
import { encodeEvent, logSubject, asSeq, asStreamSeq, type StreamSeq } from "@reprise/protocol";
import { recordSpans } from "@reprise/runtime/telemetry/testing";
import { completed, createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { recordsDraft } from "../../records/request-draft.ts";
import { type LaneWorld, openLaneWorld, type RunningLane, STREAM } from "../../testing/worlds/lane-world.ts";
import { readWholeArchive } from "../../testing/read-archive.ts";

const deltas = (count: number, text = "a") => Array.from({ length: count }, (_, i) => delta(`${text} ${i}`));
const isAt =
  (last: number, epoch = 0) =>
  (lane: Lane) =>
    lane.last >= last && lane.epoch === epoch;

/** Returns the log as the archive shows it today. */
async function replay(world: LaneWorld, { archive }: RunningLane, ref: ReturnType<typeof createRef>) {
  const reader = new ArchiveReader({ archive, keyring: await world.openKeyring() });
  return (await Array.fromAsync(reader.events(ref))).map(({ payload }) => Buffer.from(payload).toString());
}

const encoded = (fromSeq: number, drafts: readonly Parameters<typeof encodeEvent>[1][]) =>
  drafts.map((draft, i) => Buffer.from(encodeEvent(asSeq(fromSeq + i), draft)).toString());

async function everything(world: LaneWorld, { archive }: RunningLane) {
  return readWholeArchive(archive, await world.openKeyring());
}

test("what has gone from a stream before it was archived is a gap, wherever it was, and no silence", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await world.write(ref, 0, [requested(ref), ...deltas(9)]);
  await world.purgeBefore(4);
  const first = await world.startArchiver();
  expect(await first.until(isAt(10))).toMatchObject({ first: 1, last: 10, events: 7, gaps: [[1, 3]] });
  await first.stop();

  await world.write(ref, 10, deltas(10));
  await world.purgeBefore(16);
  await using second = await world.startArchiver();
  expect(await second.until(isAt(20))).toMatchObject({ first: 11, last: 20, events: 5, gaps: [[11, 15]] });
  expect((await everything(world, second)).map(({ streamSeq }) => streamSeq)).toEqual([
    4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20,
  ]);
  const { code, gaps } = await world.verify();
  expect([code, gaps.length]).toEqual([3, 2]);
});

test("each commit is a span, with how much it is of", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  const tracing = recordSpans();
  await world.write(ref, 0, [requested(ref), ...deltas(4)]);
  await using lane = await world.startArchiver({ tracing });
  await lane.until(isAt(5));
  await lane.stop();
  const messages = tracing.spans.map(({ attributes }) => attributes["messaging.batch.message_count"]);
  expect(messages.reduce((sum: number, count) => sum + Number(count), 0)).toBe(5);
  expect(tracing.spans[0]).toMatchObject({
    name: "commit audit-log",
    error: undefined,
    attributes: { "messaging.destination.name": STREAM, "reprise.result": "committed", "reprise.files": 1 },
  });
});

test("a gap shows although nothing has come after it", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await world.write(ref, 0, [requested(ref), ...deltas(9)]);
  await world.purgeBefore(11);
  await using lane = await world.startArchiver();
  expect(await lane.until(isAt(10))).toMatchObject({ events: 0, gaps: [[1, 10]] });
  expect((await world.verify()).code).toBe(3);
});

test("a stream that has lost its end is archived from where it still agrees, and both versions are kept", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await using lane = await world.startArchiver();
  const kept = [requested(ref), ...deltas(9, "kept")];
  await world.write(ref, 0, kept);
  await lane.until(isAt(10));
  await world.server.snapshotStore();
  await world.write(ref, 10, deltas(10, "lost"));
  await lane.until(isAt(20));
  await world.server.restoreStore();
  const after = [...deltas(3, "anew"), completed()];
  await world.write(ref, 10, after);

  expect(await lane.until(isAt(14, 1))).toMatchObject({ epoch: 1, gaps: [] });
  expect(await replay(world, lane, ref)).toEqual([...encoded(0, kept), ...encoded(10, after)]);
  const versions = (await everything(world, lane)).map(({ header: { epoch }, streamSeq }) => [
    epoch,
    streamSeq,
  ]);
  expect(versions.filter(([epoch]) => epoch === 0)).toHaveLength(20);
  expect(versions.filter(([epoch]) => epoch === 1)).toEqual([11, 12, 13, 14].map((seq) => [1, seq]));
  expect((await world.verify()).code).toBe(0);
});

test("a stream that has lost its end and has come further since is archived from where it still agrees", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  const first = await world.startArchiver();
  const kept = [requested(ref), ...deltas(9, "kept")];
  await world.write(ref, 0, kept);
  await first.until(isAt(10));
  await world.server.snapshotStore();
  await world.write(ref, 10, deltas(10, "lost"));
  await first.until(isAt(20));
  await first.stop();
  await world.server.restoreStore();
  await world.write(ref, 10, deltas(30, "anew"));

  await using second = await world.startArchiver();
  expect(await second.until(isAt(40, 1))).toMatchObject({ epoch: 1, gaps: [] });
  expect(await replay(world, second, ref)).toEqual([...encoded(0, kept), ...encoded(10, deltas(30, "anew"))]);
});

test("a stream that was deleted and made again, while it was archived, is archived from its beginning", async () => {
  await using world = await openLaneWorld();
  const [old, young] = [createRef(), createRef()];
  await using lane = await world.startArchiver();
  await world.write(old, 0, [requested(old), ...deltas(4)]);
  await lane.until(isAt(5));
  await world.makeStreamAnew();
  // Further than the old one was: nothing but when it was made tells them apart.
  await world.write(young, 0, [requested(young), ...deltas(9, "young")]);

  expect(await lane.until(isAt(10, 1))).toMatchObject({ epoch: 1, last: 10, gaps: [] });
  expect(await replay(world, lane, old)).toEqual(encoded(0, [requested(old), ...deltas(4)]));
  expect(await replay(world, lane, young)).toEqual(encoded(0, [requested(young), ...deltas(9, "young")]));
  expect((await world.verify()).code).toBe(0);
});

test("what an erasure has purged is no gap, and hides none in a stream that was made again", async () => {
  await using world = await openLaneWorld();
  const { created } = await readStreamInfo(world.broker.reads, STREAM);
  const first = await world.startArchiver();
  const said = { at: "2026-11-21T00:00:00Z", id: "era_1", by: "ann", reason: "", generations: [] };
  const purged = {
    [STREAM]: { created, ranges: [[asStreamSeq(1), asStreamSeq(3)] satisfies [StreamSeq, StreamSeq]] },
  };
  await first.archive.append(() =>
    recordsDraft("acme", [{ kind: "erasure_requested" as const, ...said, purged }]),
  );
  await first.stop();

  const archiveWithout = async (epoch: number) => {
    const ref = createRef();
    await world.write(ref, 0, [requested(ref), ...deltas(9)]);
    await world.purgeBefore(6);
    await using lane = await world.startArchiver();
    return await lane.until(isAt(10, epoch));
  };
  expect(await archiveWithout(0)).toMatchObject({ events: 5, gaps: [[4, 5]], skipped: [[1, 3]] });
  await world.makeStreamAnew();
  expect(await archiveWithout(1)).toMatchObject({ events: 5, gaps: [[1, 5]], skipped: [] });
});

test("a broker that dies in the middle of a backlog and comes back costs nothing and doubles nothing", async () => {
  await using world = await openLaneWorld();
  const [before, after] = [createRef(), createRef()];
  await world.write(before, 0, [requested(before), ...deltas(999)]);
  await using lane = await world.startArchiver();
  await lane.until(isAt(100));
  await world.server.kill("SIGKILL");
  await world.server.restart();
  await world.write(after, 0, [requested(after), ...deltas(9)]);

  expect(await lane.until(isAt(1_010))).toMatchObject({ epoch: 0, gaps: [], skipped: [] });
  const found = await everything(world, lane);
  expect(found.map(({ streamSeq }) => streamSeq)).toEqual(Array.from({ length: 1_010 }, (_, i) => i + 1));
  expect((await world.verify()).code).toBe(0);
});

test("what is no event is told and left out, and the rest continues", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await world.publish("gen.0.acme.strange.id", encodeEvent(asSeq(0), requested(ref)));
  await world.publish(logSubject(ref), Buffer.from("no event"));
  await world.write(ref, 0, [requested(ref), ...deltas(2), completed()]);
  await using lane = await world.startArchiver();
  const { last, events, skipped } = await lane.until((now) => now.events > 0);
  expect({ last, events, skipped }).toEqual({ last: 6, events: 4, skipped: [[1, 2]] });
  expect(lane.errors).toHaveLength(2);
  expect(await replay(world, lane, ref)).toHaveLength(4);
  expect((await world.verify()).code).toBe(0);
});

test.each([
  ["a request without what it asks for", '{"seq":0,"type":"generation.requested"}'],
  [
    "an end with a count that is none",
    '{"seq":0,"type":"generation.completed","usage":{"output_tokens":"x"}}',
  ],
])("%s stops no lane, and is kept as it is", async (_what, payload) => {
  await using world = await openLaneWorld();
  const [broken, ref] = [createRef(), createRef()];
  await world.publish(logSubject(broken), Buffer.from(payload));
  await world.write(ref, 0, [requested(ref), ...deltas(2), completed()]);
  await using lane = await world.startArchiver();
  expect(await lane.until(isAt(5))).toMatchObject({ events: 5, skipped: [] });
  expect(await replay(world, lane, broken)).toEqual([payload]);
  expect(await replay(world, lane, ref)).toHaveLength(4);
});
