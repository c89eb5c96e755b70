import { jetstreamManager } from "@nats-io/jetstream";
import { CHECKPOINTS_STREAM, checkpointSubject, type GenerationRef } from "@reprise/protocol";
import { PATIENCE_MS, startTestBroker } from "@reprise/testkit";
import { type ExpectStatic, test } from "vitest";
import { createCheckpointer } from "./checkpoint.ts";
import { connectBroker, getLastMessage, readStreamInfo, ensureTopology } from "@reprise/broker";
import { appendDecision } from "./append-decision.ts";
import { moveCheckpoints } from "../erasure/move-checkpoints.ts";
import { purgeGeneration } from "../erasure/purge-generation.ts";
import { openHub } from "../testing/open-hub.ts";
import {
  appendOne,
  cancelled,
  completed,
  newRef,
  openWorld,
  SHARDS,
  uniqueName,
  type World,
  writeLog,
} from "../testing/world.ts";

/** A generation, or its marker, can only be observed while it is kept. So these tests wait in parallel. */
const RETENTION_MS = 8_000;
const SELDOM = { interval: 250 };
const EXPIRED = { code: "generation_expired", retryable: false };

/** Writes a log as a worker does, to its end. Leaves its checkpoint. */
async function writeEnded(world: World): Promise<GenerationRef> {
  const ref = newRef();
  const writer = await writeLog(world.log, ref, 3);
  const snapshot = await world.log.reader.readLog(ref);
  const { publishCheckpoint: publish, maxCheckpointBytes: maxBytes } = world.log;
  const checkpointer = createCheckpointer({ publish, ref, snapshot, maxBytes, now: 0 });
  await appendOne(writer, completed());
  checkpointer.add(writer.head.payload, writer.head.streamSeq, 0);
  await checkpointer.flush();
  return ref;
}

function cancel(world: World, ref: GenerationRef) {
  const decide = ({ ended }: { ended: boolean }) => (ended ? undefined : cancelled());
  return appendDecision({ ...world.log, ref, writer: uniqueName(), decide });
}

function lastCheckpoint(world: World, ref: GenerationRef) {
  return getLastMessage(world.broker.main, CHECKPOINTS_STREAM, checkpointSubject(ref));
}

/** Reads the log: the number of its events, or the error. */
function readingOf(world: World, ref: GenerationRef): Promise<unknown> {
  return world.log.reader.readLog(ref).then(
    ({ events }) => events.length,
    (error: unknown) => error,
  );
}

/** Waits until reading a log fails, and returns the error. */
async function failureOf(world: World, ref: GenerationRef, expect: ExpectStatic): Promise<unknown> {
  let reading: unknown;
  const read = async () => (reading = await readingOf(world, ref));
  await expect.poll(read, SELDOM).not.toBeTypeOf("number");
  return reading;
}

test.concurrent("an expired generation is answered generation_expired for as long as it was kept, and then generation_not_found", async ({
  expect,
}) => {
  await using world = await openWorld(RETENTION_MS);
  using opened = openHub(world);
  const ref = await writeEnded(world);
  const kept = await lastCheckpoint(world, ref);
  expect(await failureOf(world, ref, expect)).toMatchObject(EXPIRED);
  const foreign = { ...newRef("rival"), generation: ref.generation };
  // At once: the marker's time runs.
  await Promise.all([
    expect(opened.hub.open(ref)).rejects.toMatchObject(EXPIRED),
    expect(cancel(world, ref)).rejects.toMatchObject(EXPIRED),
    expect(opened.hub.open(foreign)).rejects.toMatchObject({ code: "generation_not_found" }),
  ]);
  // Its events may expire a moment before its checkpoint.
  await expect.poll(async () => (await lastCheckpoint(world, ref))?.headers, SELDOM).toContain("MaxAge");
  const marker = await lastCheckpoint(world, ref);
  // By the broker's clock.
  expect(Date.parse(marker!.time) - Date.parse(kept!.time)).toBeGreaterThanOrEqual(RETENTION_MS);
  expect(marker!.headers).toContain(`Nats-TTL: ${RETENTION_MS / 1_000}s`);

  await expect.poll(() => readingOf(world, ref), SELDOM).toBe(0);
  await expect(opened.hub.open(ref)).rejects.toMatchObject({ code: "generation_not_found" });
});

test.concurrent("a checkpoint that was moved, as an erasure of others does, expires and leaves its marker all the same", async ({
  expect,
}) => {
  await using world = await openWorld(RETENTION_MS);
  const ref = await writeEnded(world);
  const { lastStreamSeq } = await readStreamInfo(world.broker.main, CHECKPOINTS_STREAM);
  expect(await moveCheckpoints(world, [{ sinceUs: 0, untilUs: 0, lastStreamSeq }])).toBe(1);
  expect((await world.log.reader.readLog(ref)).events).toHaveLength(5);
  expect(await failureOf(world, ref, expect)).toMatchObject(EXPIRED);
  await expect.poll(() => readingOf(world, ref), SELDOM).toBe(0);
});

test.concurrent("an erased generation is answered generation_erased for as long as logs are kept, and then generation_expired", async ({
  expect,
}) => {
  await using world = await openWorld(RETENTION_MS);
  const ref = await writeEnded(world);
  await purgeGeneration({ ...world, ref });
  const erased = { code: "generation_erased", param: "id", retryable: false };
  await expect(world.log.reader.readLog(ref)).rejects.toMatchObject(erased);
  await expect(cancel(world, ref)).rejects.toMatchObject(erased);
  await expect.poll(() => readingOf(world, ref), SELDOM).toMatchObject(EXPIRED);
  await expect.poll(() => readingOf(world, ref), SELDOM).toBe(0);
});

test.concurrent("a generation that ended before any worker had it leaves a marker too", async ({
  expect,
}) => {
  await using world = await openWorld(RETENTION_MS);
  const ref = newRef();
  await writeLog(world.log, ref, 0);
  expect((await cancel(world, ref)).appended).toBe(true);
  expect(await failureOf(world, ref, expect)).toMatchObject(EXPIRED);
});

test.concurrent("a generation that expires while the broker is away is answered generation_expired when it is back", async ({
  expect,
}) => {
  await using world = await openWorld(RETENTION_MS);
  const ref = await writeEnded(world);
  const kept = await lastCheckpoint(world, ref);
  await world.server.stop();
  const ageMs = () => Date.now() - Date.parse(kept!.time);
  await expect.poll(ageMs, SELDOM).toBeGreaterThan(RETENTION_MS);
  await world.server.restart();
  await expect.poll(() => readingOf(world, ref), SELDOM).toMatchObject(EXPIRED);
});

test.concurrent("checkpoints of an earlier version get the marker as well", async ({ expect }) => {
  await using server = await startTestBroker();
  await using broker = await connectBroker({ url: server.url, name: "test" });
  const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
  const earlier = { max_msgs_per_subject: 1, allow_direct: true, max_age: RETENTION_MS * 1_000_000 };
  await manager.streams.add({ ...earlier, name: CHECKPOINTS_STREAM, subjects: ["ckpt.>"] });
  await ensureTopology(broker.main, { shards: SHARDS, replicas: 1, retentionMs: RETENTION_MS });
  const { config } = await manager.streams.info(CHECKPOINTS_STREAM);
  expect(config).toMatchObject({ subject_delete_marker_ttl: RETENTION_MS * 1_000_000 });
});
