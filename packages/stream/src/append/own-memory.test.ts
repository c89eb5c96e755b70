import { asStreamSeq, asSeq } from "@reprise/protocol";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCheckpointer } from "./checkpoint.ts";
import { enqueueJob, type Job, pullJobs, openJobs } from "@reprise/jobs";
import { ReorderBuffer } from "../hub/cache/reorder-buffer.ts";
import type { LogSnapshot } from "../read/stored-event.ts";
import { newRef, openWorld, type World, writeLog } from "../testing/world.ts";

/*
 * A payload that is kept must not be a view of the chunk that its connection has read, nor of the pool of 64 KiB that Node shares
 * among small buffers: one of 100 bytes, kept for as long as a generation runs, would keep all of that alive.
 */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Number of bytes that payloads keep alive beyond their own. */
function excessOf(payloads: readonly Uint8Array[]): number {
  const buffers = new Set(payloads.map(({ buffer }) => buffer));
  const kept = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return kept - payloads.reduce((sum, { length }) => sum + length, 0);
}

test("events are read into memory of their own, from a replica and from the leader", async () => {
  const ref = newRef();
  await writeLog(world.log, ref, 3);
  const { reader, leader } = world.log;
  const read = [
    ...(await reader.readTail(ref, asStreamSeq(0))),
    ...(await leader.readTail(ref, asStreamSeq(0))),
    (await reader.readLast(ref))!,
    (await leader.readLast(ref))!,
  ];
  expect(read).toHaveLength(10);
  expect(excessOf(read.map(({ payload }) => payload))).toBe(0);
});

test("the events of a checkpoint share one copy of it, and no more", async () => {
  const ref = newRef();
  await writeLog(world.log, ref, 3);
  const snapshot: LogSnapshot = await world.log.reader.readLog(ref);
  const checkpointer = createCheckpointer({
    publish: world.log.publishCheckpoint,
    ref,
    snapshot: { events: snapshot.events.slice(0, -1), streamSeq: asStreamSeq(0) },
    maxBytes: 1e6,
    now: 0,
  });
  checkpointer.add(snapshot.events.at(-1)!, snapshot.streamSeq, 0);
  await checkpointer.flush();
  const { events } = await world.log.reader.readLog(ref);
  expect(events).toHaveLength(4);
  // Each line has its LF.
  expect(excessOf(events)).toBe(events.length);
});

test("a job has memory of its own, for its worker and for the reaper", async () => {
  const ref = newRef();
  const model = "owner";
  await enqueueJob(world.log.publish, { model, ref, payload: Buffer.from('{"seq":0}') });
  const { main: connection } = world.broker;
  const found = await openJobs.readJob(connection, { ref, model, priority: "interactive" });
  const { jobs } = await openJobs.readJobsAfter(connection, asStreamSeq(0));
  const all = await Array.fromAsync(openJobs.readAllJobs(connection));
  const { promise: pulled, resolve } = Promise.withResolvers<Job>();
  const options = {
    connection,
    model,
    slots: 1,
    ackWaitMs: 60_000,
    onError: (error: unknown) => world.errors.push(error),
  };
  const puller = await pullJobs({ ...options, run: async (job) => resolve(job) });
  const payloads = [found!, ...jobs, ...all, await pulled].map(({ payload }) => payload);
  puller.stop();
  expect(payloads).toHaveLength(4);
  expect([excessOf(payloads), world.errors]).toEqual([0, []]);
});

/** Its frame ends with the call, and with it what refers to the payload. */
function holdElsewhere(job: Job): { own: WeakRef<object>; elsewhere: Uint8Array } {
  const elsewhere = Uint8Array.from(job.payload);
  const own = new WeakRef(job.payload.buffer);
  job.holdPayloadAt(() => elsewhere);
  return { own, elsewhere };
}

test("a job that runs lets go of a payload that is held elsewhere", async () => {
  const model = "holder";
  await enqueueJob(world.log.publish, { model, ref: newRef(), payload: Buffer.from('{"seq":0}') });
  const { promise: pulled, resolve } = Promise.withResolvers<Job>();
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const run = async (job: Job) => {
    resolve(job);
    await done;
    await job.ack();
  };
  const onError = (error: unknown) => world.errors.push(error);
  const puller = await pullJobs({
    connection: world.broker.main,
    model,
    slots: 1,
    ackWaitMs: 60_000,
    run,
    onError,
  });
  const job = await pulled;
  const { own, elsewhere } = holdElsewhere(job);
  // A weak reference is strong until the turn of the event loop in which it was made is over.
  await new Promise((over) => setImmediate(over));
  collectGarbage();
  expect(own.deref()).toBeUndefined();
  expect(job.payload).toBe(elsewhere);
  puller.stop();
  finish();
  await puller.idle();
});

test("a live event that comes too early is kept in memory of its own", () => {
  const early = new ReorderBuffer();
  early.add(asSeq(7), Buffer.alloc(65_536).subarray(100, 200));
  expect(early.take(asSeq(7))!.buffer.byteLength).toBe(100);
});
