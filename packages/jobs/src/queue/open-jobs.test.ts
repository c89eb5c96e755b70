import { jetstreamManager } from "@nats-io/jetstream";
import {
  encodeEvent,
  type GenerationRef,
  jobLane,
  JOBS_STREAM,
  type Priority,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Broker } from "@reprise/broker";
import { enqueueJob } from "./enqueue-job.ts";
import type { Job } from "./job.ts";
import { pullJobs } from "./pull-jobs.ts";
import {
  deleteJob,
  type OpenJob,
  type QueuedJob,
  readJob,
  readJobsAfter,
  readQueueEnd,
} from "./open-jobs.ts";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";

type Named = Omit<OpenJob, "streamSeq">;

async function enqueue(
  world: World,
  count: number,
  model = "org/model-1.5",
  priority: Priority = "interactive",
): Promise<Named[]> {
  const jobs = Array.from({ length: count }, () => ({ model, ref: newRef(), priority }));
  await Promise.all(
    jobs.map((job) =>
      enqueueJob(world.log.publish, { ...job, payload: encodeEvent(asSeq(0), requested(job.ref)) }),
    ),
  );
  return jobs;
}

/** Walks along the whole queue from its beginning. */
async function walk({ main }: Broker): Promise<QueuedJob[]> {
  const jobs: QueuedJob[] = [];
  for (let after = 0, more = true; more;) {
    const part = await readJobsAfter(main, asStreamSeq(after));
    jobs.push(...part.jobs);
    ({ more, streamSeq: after } = part);
  }
  return jobs;
}

const idsOf = (jobs: readonly { ref: GenerationRef }[]) => jobs.map(({ ref }) => ref.generation).toSorted();

test("a walk meets every job that has not ended, of every model, whether it waits or runs", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const waiting = await enqueue(world, 20);
  const [running] = await enqueue(world, 1, "b");
  const hold = Promise.withResolvers<void>();
  const jobs: Job[] = [];
  const run = (job: Job) => (jobs.push(job), hold.promise);
  const onError = (error: unknown) => world.errors.push(error);
  const puller = await pullJobs({ connection: main, model: "b", slots: 1, ackWaitMs: 60_000, run, onError });
  await eventually(() => expect(jobs).toHaveLength(1));
  expect(idsOf(await walk(world.broker))).toEqual(idsOf([...waiting, running!]));

  await jobs[0]!.ack();
  expect(idsOf(await walk(world.broker))).toEqual(idsOf(waiting));
  puller.stop();
  hold.resolve();
  expect(world.errors).toEqual([]);
});

test("a walk goes in small batches, on from where the last one ended, and finds what has come since", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const first = await enqueue(world, 300);
  const begin = await readJobsAfter(main, asStreamSeq(0));
  expect(begin.more).toBe(true);
  expect(begin.jobs.length).toBeLessThan(300);
  const next = await readJobsAfter(main, begin.streamSeq);
  const rest = await readJobsAfter(main, next.streamSeq);
  expect(idsOf([...begin.jobs, ...next.jobs, ...rest.jobs])).toEqual(idsOf(first));
  const end = await readQueueEnd(main);
  expect(rest).toMatchObject({ more: false, streamSeq: end.streamSeq });

  const later = await enqueue(world, 2);
  expect(idsOf((await readJobsAfter(main, end.streamSeq)).jobs)).toEqual(idsOf(later));
});

test("an empty queue has nothing to meet, and what is no job is passed over", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  expect(await readJobsAfter(main, asStreamSeq(0))).toEqual({ jobs: [], streamSeq: 0, more: false });
  await world.log.publish("job.a.not.a-job", Buffer.from("{}"), {});
  expect(await readJobsAfter(main, asStreamSeq(0))).toEqual({ jobs: [], streamSeq: 1, more: false });
});

test("a job is met and read with the time at which it was queued, by the clock that the queue's end tells", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const before = await readQueueEnd(main);
  const [job] = await enqueue(world, 1);
  const read = await readJob(main, job!);
  const after = await readQueueEnd(main);
  expect(read).toMatchObject({ ...job, payload: Buffer.from(encodeEvent(asSeq(0), requested(job!.ref))) });
  expect(read!.queuedAtMs).toBeGreaterThanOrEqual(before.brokerTimeMs);
  expect(read!.queuedAtMs).toBeLessThanOrEqual(after.brokerTimeMs);
  const [met] = await walk(world.broker);
  expect({ ...met, payload: Buffer.from(met!.payload) }).toEqual(read);
});

test("a job that is deleted is gone for its queue too, and can be deleted twice", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const [job, other] = await enqueue(world, 2);
  const read = await readJob(main, job!);
  await Promise.all([deleteJob(main, read!), deleteJob(main, read!)]);
  await deleteJob(main, read!);
  expect(await readJob(main, job!)).toBeUndefined();
  const manager = await jetstreamManager(main, { timeout: PATIENCE_MS });
  const { state } = await manager.streams.info(JOBS_STREAM);
  expect(state.messages).toBe(1);
  expect(idsOf(await walk(world.broker))).toEqual([other!.ref.generation]);
});

test("a running job can be deleted: no worker gets it again, and its holder's acknowledgement is void", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const [job] = await enqueue(world, 1, "b");
  const hold = Promise.withResolvers<void>();
  const jobs: Job[] = [];
  const puller = await pullJobs({
    connection: main,
    model: "b",
    slots: 1,
    ackWaitMs: 500,
    run: (got) => (jobs.push(got), hold.promise),
    onError: (error) => world.errors.push(error),
  });
  await eventually(() => expect(jobs).toHaveLength(1));
  await deleteJob(main, (await readJob(main, job!))!);
  jobs[0]!.working();
  hold.resolve();
  await puller.idle();
  const manager = await jetstreamManager(main, { timeout: PATIENCE_MS });
  const { consumer } = jobLane("b", { tenant: job!.ref.tenant, priority: "interactive" });
  await eventually(async () => {
    const { num_ack_pending, num_pending } = await manager.consumers.info(JOBS_STREAM, consumer);
    expect([num_ack_pending, num_pending]).toEqual([0, 0]);
  });
  await jobs[0]!.ack();
  puller.stop();
  expect([jobs.length, world.errors]).toEqual([1, []]);
});

test("without a broker the queue can't be read, and the caller is told", async () => {
  await using world = await openWorld();
  await world.server.stop();
  const unavailable = { code: "broker_unavailable" };
  await Promise.all([
    expect(readQueueEnd(world.broker.main)).rejects.toMatchObject(unavailable),
    expect(readJobsAfter(world.broker.main, asStreamSeq(0))).rejects.toMatchObject(unavailable),
  ]);
});
