import type { NatsConnection } from "@nats-io/transport-node";
import {
  checkpointSubject,
  CHECKPOINTS_STREAM,
  decodeEvent,
  encodeEvent,
  type EventDraft,
  fillerSubject,
  type GenerationRef,
  inputStreamOf,
  inputSubject,
  isTerminal,
  jobSubject,
  JOBS_STREAM,
  logSubject,
  parseNodeId,
  parseWorkerId,
  peekType,
  streamOf,
  VERDICTS_STREAM,
  asSeq,
  asStreamSeq,
  STREAM_START,
} from "@reprise/protocol";
import { expect, test } from "vitest";
import { storeCheckpoint } from "../append/checkpoint.ts";
import { enqueueJob, answerHolderQueries, publishPresence, readPresence, openJobs } from "@reprise/jobs";
import { InputWriter } from "../input/input-writer.ts";
import { fillStream, purgeFiller, streamsWithTextOf } from "./fill-stream.ts";
import { closeGeneration, endGeneration, isPurged, purgeGeneration, readRanges } from "./purge-generation.ts";
import { getStreamInfo } from "@reprise/broker";
import {
  appendOne,
  appenderOf,
  completed,
  delta,
  newRef,
  openWorld,
  started,
  type World,
  writeLog,
} from "../testing/world.ts";
import { storeVerdict } from "@reprise/moderation";

const ERASED = { code: "generation_erased" };

function target({ broker, log }: World, ref: GenerationRef) {
  return { broker, log, ref };
}

/** A connection with longer request timeouts than half a second, in which a busy machine may not answer. */
function patient(connection: NatsConnection): NatsConnection {
  const request: NatsConnection["request"] = (subject, payload) =>
    connection.request(subject, payload, { timeout: 60_000 });
  return new Proxy(connection, {
    get(_connection, name) {
      const own: unknown = name === "request" ? request : Reflect.get(connection, name);
      return typeof own === "function" ? own.bind(connection) : own;
    },
  });
}

/** An event that moderation may append after an end. */
function redacted(): EventDraft {
  const quote = { replacement: "a quote", rule: "cards", category: "personal-data" };
  return { type: "moderation.redacted", from_seq: asSeq(1), to_seq: asSeq(1), ...quote };
}

async function checkpoint({ log }: World, ref: GenerationRef): Promise<void> {
  const events = await log.leader.readTail(ref, asStreamSeq(0));
  const snapshot = { events: events.map(({ payload }) => payload), streamSeq: events.at(-1)!.streamSeq };
  await storeCheckpoint({ publish: log.publishCheckpoint, ref, snapshot, maxBytes: 1_000_000 });
}

function toPlaces(ranges: readonly (readonly [number, number])[]): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
}

async function countOf({ broker }: World, stream: string, subject: string): Promise<number> {
  const { state } = await getStreamInfo(broker.main, stream, { subjects_filter: subject });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

test("a generation that has ended is taken out of every stream, and is known as one that was", async () => {
  await using world = await openWorld();
  const [ref, other] = [newRef(), newRef()];
  const verdict = { judged: asSeq(1), cleared: asSeq(1), decided: asSeq(0) };
  for (const each of [ref, other]) {
    await appendOne(await writeLog(world.log, each, 3), completed());
    await checkpoint(world, each);
    await storeVerdict(world.log.publish, each, verdict, { expectedLast: STREAM_START });
    await publishPresence(
      world.log.publish,
      { ref: each, node: parseNodeId("n") },
      { readers: 1, seq: asSeq(2) },
    );
  }
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  await endGeneration(target(world, ref));
  const { ranges: places, end } = await closeGeneration(target(world, ref));
  expect(end).toBe(stored.at(-1)!.streamSeq);
  expect(places[streamOf(ref.generation)]).toEqual([[stored[0]!.streamSeq, stored.at(-1)!.streamSeq]]);
  expect(places[VERDICTS_STREAM]).toHaveLength(1);

  await purgeGeneration(target(world, ref));
  await expect(world.log.reader.readLog(ref)).rejects.toMatchObject(ERASED);
  const kept = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(kept.map(({ payload }) => peekType(payload))).toEqual(["generation.completed"]);
  expect(await world.log.verdicts.readVerdictFromLeader(ref)).toBeUndefined();
  expect((await readPresence(world.broker.main, ref)).records).toEqual([]);
  expect(await isPurged(target(world, ref))).toBe(true);

  await purgeGeneration(target(world, ref));
  expect(await isPurged(target(world, ref))).toBe(true);
  expect((await world.log.reader.readLog(other)).events).toHaveLength(5);
  expect((await world.log.verdicts.readVerdictFromLeader(other))?.verdict).toEqual(verdict);
  expect((await readPresence(world.broker.main, other)).records).toHaveLength(1);
});

test("one that runs is ended first, and its worker is waited for", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const worker = parseWorkerId("worker-1");
  const writer = await writeLog(world.log, ref, 0);
  await appendOne(writer, { type: "generation.started", attempt: 1, worker, model: "sim" });
  let asked = 0;
  answerHolderQueries(world.broker.reads, worker, () => ++asked < 3);
  await world.broker.reads.flush();
  const broker = { ...world.broker, main: patient(world.broker.main) };
  await endGeneration({ ...target(world, ref), broker });
  expect(asked).toBe(3);
  const last = await world.log.leader.readLast(ref);
  expect(decodeEvent(last!.payload)).toMatchObject({ type: "generation.cancelled", reason: "erased" });
  expect(await countOf(world, CHECKPOINTS_STREAM, checkpointSubject(ref))).toBe(0);
});

test("a worker that has slept through it is fenced, and finds nothing to put back", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const writer = appenderOf(world.log, ref, { isFence: ({ type }) => isTerminal(type) });
  for (const draft of [started(), delta("secret")]) await appendOne(writer, draft);
  await endGeneration(target(world, ref));
  await purgeGeneration(target(world, ref));
  writer.append(delta("late"));
  expect(await writer.settled()).toMatchObject({ kind: "fenced", by: { type: "generation.cancelled" } });
  const anew = await world.log.publish(logSubject(ref), encodeEvent(asSeq(0), delta("anew")), {
    expectedLast: asStreamSeq(0),
  });
  expect(anew).toEqual({ kind: "conflict" });
  expect(await countOf(world, streamOf(ref.generation), logSubject(ref))).toBe(1);
});

test("nothing that was appended after the end is left, and there is one end again", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const writer = await writeLog(world.log, ref, 1);
  await appendOne(writer, completed());
  await appendOne(writer, redacted());
  await endGeneration(target(world, ref));
  await purgeGeneration(target(world, ref));
  const kept = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(kept.map(({ payload }) => decodeEvent(payload))).toMatchObject([
    { seq: 4, type: "generation.cancelled", reason: "erased" },
  ]);
  expect(await isPurged(target(world, ref))).toBe(true);
});

test("what is purged is what was there when the log was closed, and what comes later is noticed", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const writer = await writeLog(world.log, ref, 1);
  await appendOne(writer, completed());
  await appendOne(writer, redacted());
  const first = await world.log.leader.readTail(ref, asStreamSeq(0), 1);
  const closed = await closeGeneration(target(world, ref));
  const { end } = closed;
  expect(closed.ranges[streamOf(ref.generation)]).toEqual([[first[0]!.streamSeq, end]]);
  const late = encodeEvent(asSeq(5), redacted());
  expect(await world.log.publish(logSubject(ref), late, { expectedLast: end! })).toMatchObject({
    kind: "stored",
  });
  await purgeGeneration(target(world, ref), closed);
  const kept = await world.log.leader.readTail(ref, asStreamSeq(0));
  expect(kept.map(({ payload }) => peekType(payload))).toEqual([
    "generation.cancelled",
    "moderation.redacted",
  ]);
  expect(await isPurged(target(world, ref))).toBe(false);
  await purgeGeneration(target(world, ref));
  expect(await isPurged(target(world, ref))).toBe(true);
});

test.each(["interactive", "batch"] as const)(
  "%s jobs that wait are taken out of the queue",
  async (priority) => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 0);
    await enqueueJob(world.log.publish, { model: "sim", ref, priority, payload: Buffer.from("a prompt") });
    await endGeneration(target(world, ref));
    expect(await openJobs.readJob(world.broker.main, { model: "sim", ref, priority })).toBeUndefined();
  },
);

test("a generation of which there is only a job leaves a marker too", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await enqueueJob(world.log.publish, { model: "sim", ref, payload: Buffer.from("a prompt") });
  await endGeneration(target(world, ref));
  await purgeGeneration(target(world, ref));
  await expect(world.log.reader.readLog(ref)).rejects.toMatchObject(ERASED);
  expect(await countOf(world, JOBS_STREAM, jobSubject("sim", ref))).toBe(0);
});

test("a checkpoint that comes late is noticed, and taken away by purging again", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await appendOne(await writeLog(world.log, ref, 2), completed());
  const snapshot = await world.log.reader.readLog(ref);
  await purgeGeneration(target(world, ref));
  await storeCheckpoint({ publish: world.log.publishCheckpoint, ref, snapshot, maxBytes: 1_000_000 });
  expect(await isPurged(target(world, ref))).toBe(false);
  await purgeGeneration(target(world, ref));
  expect(await isPurged(target(world, ref))).toBe(true);
  await expect(world.log.reader.readLog(ref)).rejects.toMatchObject(ERASED);
});

test("a generation's input is purged with it", async () => {
  await using world = await openWorld();
  const [ref, other] = [newRef(), newRef()];
  const { reads } = world.broker;
  for (const one of [ref, other]) {
    await writeLog(world.log, one, 1);
    const writer = new InputWriter({ ...world.log, reads, ref: one, budgetMs: 20_000 });
    await writer.append(asSeq(1), [{ type: "input.delta", text: "said" }]);
  }
  await endGeneration(target(world, ref));
  await purgeGeneration(target(world, ref));
  const left = await Promise.all(
    [ref, other].map((one) => readRanges(world.broker, inputStreamOf(one.generation), inputSubject(one))),
  );
  expect(left.map(({ length }) => length)).toEqual([0, 1]);
  expect(await isPurged(target(world, ref))).toBe(true);
  const late = new InputWriter({ ...world.log, reads, ref, budgetMs: 20_000 });
  await late.append(asSeq(1), [{ type: "input.delta", text: "late" }]);
  expect(await isPurged(target(world, ref))).toBe(false);
});

test("filler belongs to no generation, and is gone when it is purged", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const [filled] = streamsWithTextOf([ref.generation]);
  const places = await fillStream(world, filled!);
  expect(places).toEqual({ [streamOf(ref.generation)]: [[3, 35]] });
  await purgeFiller(world.broker, filled!, places);
  const { state } = await getStreamInfo(world.broker.main, filled!.stream);
  expect(state.messages).toBe(2);
  expect((await world.log.reader.readLog(ref)).events).toHaveLength(2);
});

test("of two processes that fill a stream at once each purges the ranges that it knows, and nothing else", async () => {
  await using world = await openWorld();
  const [filled] = streamsWithTextOf([newRef().generation]);
  const { stream, subjects } = filled!;
  const left = () => readRanges(world.broker, stream, fillerSubject(subjects));
  const [first, second] = await Promise.all([fillStream(world, filled!), fillStream(world, filled!)]);
  await fillStream(world, filled!);
  await purgeFiller(world.broker, filled!, first);
  expect(toPlaces([...first[stream]!, ...(await left())])).toEqual(
    Array.from({ length: 99 }, (_, i) => i + 1),
  );
  await purgeFiller(world.broker, filled!, second);
  expect(await left()).toEqual([[67, 99]]);
});
