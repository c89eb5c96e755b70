import { jetstreamManager } from "@nats-io/jetstream";
import { encodeEvent, JOBS_STREAM } from "@reprise/protocol";
import { expect, test } from "vitest";
import { enqueueJob } from "./enqueue-job.ts";
import { type Job, pullJobs } from "./jobs.ts";
import { deleteJob, listOpenJobs, type OpenJob, readJob } from "./open-jobs.ts";
import { eventually } from "./testing/eventually.ts";
import { newRef, openWorld, requested, type World } from "./testing/world.ts";

async function enqueue(world: World, count: number, model = "org/model-1.5"): Promise<OpenJob[]> {
  const jobs = Array.from({ length: count }, () => ({ model, ref: newRef() }));
  await Promise.all(
    jobs.map((job) => enqueueJob(world.log.publish, { ...job, payload: encodeEvent(0, requested(job.ref)) })),
  );
  return jobs;
}

const byGeneration = (a: OpenJob, b: OpenJob) => a.ref.generation.localeCompare(b.ref.generation);

test("the list holds every job that has not ended, of every model, whether it waits or runs", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const waiting = await enqueue(world, 20);
  const [running] = await enqueue(world, 1, "b");
  const hold = Promise.withResolvers<void>();
  const jobs: Job[] = [];
  const run = (job: Job) => (jobs.push(job), hold.promise);
  const onError = (error: unknown) => world.errors.push(error);
  const puller = await pullJobs({
    connection: main,
    model: "b",
    slots: 1,
    ackWaitMs: 60_000,
    run,
    onError,
  });
  await eventually(() => expect(jobs).toHaveLength(1));
  const listed = await listOpenJobs(main);
  expect(listed.jobs.toSorted(byGeneration)).toEqual([...waiting, running!].toSorted(byGeneration));

  await jobs[0]!.ack();
  expect((await listOpenJobs(main)).jobs.toSorted(byGeneration)).toEqual(waiting.toSorted(byGeneration));
  puller.stop();
  hold.resolve();
  expect(world.errors).toEqual([]);
});

test("an empty queue is listed as one, and what is no job is left out", async () => {
  await using world = await openWorld();
  expect((await listOpenJobs(world.broker.main)).jobs).toEqual([]);
  await world.log.publish("job.a.not.a-job", Buffer.from("{}"), {});
  expect((await listOpenJobs(world.broker.main)).jobs).toEqual([]);
});

test("a job is read with the time at which it was queued, by the clock that the list tells", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const before = await listOpenJobs(main);
  const [job] = await enqueue(world, 1);
  const read = await readJob(main, job!);
  const after = await listOpenJobs(main);
  expect(read).toMatchObject({ ...job, payload: Buffer.from(encodeEvent(0, requested(job!.ref))) });
  expect(read!.queuedAtMs).toBeGreaterThanOrEqual(before.brokerTimeMs);
  expect(read!.queuedAtMs).toBeLessThanOrEqual(after.brokerTimeMs);
});

test("a job that is deleted is gone for its queue too, and can be deleted twice", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const [job, other] = await enqueue(world, 2);
  const read = await readJob(main, job!);
  await Promise.all([deleteJob(main, read!), deleteJob(main, read!)]);
  await deleteJob(main, read!);
  expect(await readJob(main, job!)).toBeUndefined();
  const manager = await jetstreamManager(main);
  const { state } = await manager.streams.info(JOBS_STREAM);
  expect(state.messages).toBe(1);
  expect((await listOpenJobs(main)).jobs).toEqual([other]);
});

test("a job that runs can be deleted: nobody gets it again, and its holder's answer is void", async () => {
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
  const manager = await jetstreamManager(main);
  await eventually(async () => {
    const { num_ack_pending, num_pending } = await manager.consumers.info(JOBS_STREAM, "worker_b");
    expect([num_ack_pending, num_pending]).toEqual([0, 0]);
  });
  await jobs[0]!.ack();
  puller.stop();
  expect([jobs.length, world.errors]).toEqual([1, []]);
}, 15_000);

test("without a broker there is no list, and the caller is told", async () => {
  await using world = await openWorld();
  await world.server.stop();
  await expect(listOpenJobs(world.broker.main)).rejects.toMatchObject({ code: "broker_unavailable" });
}, 10_000);
