import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import {
  asSeq,
  encodeEvent,
  jobLane,
  JOBS_STREAM,
  parseTenantId,
  type Priority,
  STREAM_START,
  type TenantId,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";
import { enqueueJob } from "../queue/enqueue-job.ts";
import type { Job } from "../queue/job.ts";
import * as openJobs from "../queue/open-jobs.ts";
import type { QueuedJob } from "../queue/open-jobs.ts";
import { pullJobs } from "../queue/pull-jobs.ts";
import { QueueDepths } from "./queue-depths.ts";

const MODEL = "org/model-1.5";

async function queue(world: World, tenant: string, count: number, priority: Priority = "interactive") {
  for (let i = 0; i < count; i++) {
    const ref = newRef(tenant);
    const payload = encodeEvent(asSeq(0), requested(ref));
    await enqueueJob(world.log.publish, { model: MODEL, ref, priority, payload });
  }
}

/** A worker that keeps its jobs until they are ended. */
async function work(world: World, slots: number) {
  const jobs: Job[] = [];
  const ended = Promise.withResolvers<void>();
  const puller = await pullJobs({
    connection: world.broker.main,
    model: MODEL,
    slots,
    ackWaitMs: 60_000,
    onError: (error) => world.errors.push(error),
    async run(job) {
      jobs.push(job);
      await ended.promise;
      await job.ack();
    },
  });
  return { jobs, puller, end: () => ended.resolve(), [Symbol.dispose]: () => puller.stop() };
}

const oldestOf = async ({ broker }: World) =>
  (await openJobs.readAllJobs(broker.bulk).next()).value?.queuedAtMs as number;

test("jobs of a model that has no worker are all queued, and the oldest is the first", async () => {
  await using world = await openWorld();
  const depths = new QueueDepths(world.broker.bulk);
  expect((await depths.read()).models.size).toBe(0);
  await queue(world, "acme", 2);
  await queue(world, "beta", 3, "batch");
  const { models, brokerTimeMs } = await new QueueDepths(world.broker.bulk).read();
  const oldestAtMs = await oldestOf(world);
  expect([...models]).toEqual([[MODEL, { queued: 5, held: 0, oldestAtMs }]]);
  expect(brokerTimeMs).toBeGreaterThanOrEqual(oldestAtMs);
});

test("jobs that workers have are held, the others are queued, over all tenants and priorities; what has ended is neither", async () => {
  await using world = await openWorld();
  const depths = new QueueDepths(world.broker.bulk);
  using worker = await work(world, 2);
  await queue(world, "acme", 4);
  await queue(world, "acme", 1, "batch");
  await queue(world, "beta", 1);
  await eventually(async () => {
    const { queued = 0, held = 0 } = (await depths.read()).models.get(MODEL) ?? {};
    expect([queued + held, worker.jobs.length]).toEqual([6, 2]);
    // One that came when the slot had another job was given back, and is held by no worker.
    expect(held).toBeGreaterThanOrEqual(2);
    expect(queued).toBeGreaterThan(0);
  });
  worker.end();
  await eventually(async () =>
    expect((await depths.read()).models.get(MODEL)).toEqual({ queued: 0, held: 0, oldestAtMs: undefined }),
  );
  expect(world.errors).toEqual([]);
});

type Timed = [atMs: number, jobs: QueuedJob[]];

test("the oldest job is the next one when a worker has it, and soon when it was taken out of the queue", async () => {
  await using world = await openWorld();
  const depths = new QueueDepths(world.broker.bulk);
  let byTime = new Map<number, QueuedJob[]>();
  while (byTime.size < 3) {
    await queue(world, "acme", 1);
    const { jobs } = await openJobs.readJobsAfter(world.broker.bulk, STREAM_START);
    byTime = Map.groupBy(jobs, ({ queuedAtMs }) => queuedAtMs);
  }
  const [[firstMs, first], [secondMs, second], [thirdMs]] = [...byTime] as [Timed, Timed, Timed];
  const oldest = async () => (await depths.read()).models.get(MODEL)?.oldestAtMs;
  vi.useFakeTimers({ toFake: ["performance"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  expect(await oldest()).toBe(firstMs);
  for (const job of first) await openJobs.deleteJob(world.broker.bulk, job);
  vi.advanceTimersByTime(15_000);
  expect(await oldest()).toBe(secondMs);
  using worker = await work(world, second.length);
  await eventually(async () => expect(await oldest()).toBe(thirdMs));
  expect(worker.jobs).toHaveLength(second.length);
  realTimers[Symbol.dispose]();
});

test("the queue is listed every 15 s at most, however often it is read, and not where the consumers account for every job", async () => {
  await using world = await openWorld();
  const { connection, listings } = countListings(world);
  const depths = new QueueDepths(connection);
  await queue(world, "acme", 1);
  for (let i = 0; i < 5; i++) expect((await depths.read()).models.get(MODEL)?.queued).toBe(1);
  expect(listings()).toBe(1);
  using worker = await work(world, 1);
  await eventually(async () =>
    expect((await new QueueDepths(world.broker.bulk).read()).models.get(MODEL)?.held).toBe(1),
  );
  expect(worker.jobs).toHaveLength(1);
  const later = new QueueDepths(connection);
  for (let i = 0; i < 5; i++) await later.read();
  expect(listings()).toBe(1);
});

/** The listings of subjects that go over a connection. */
function countListings({ broker: { bulk } }: World) {
  const publish = vi.spyOn(bulk, "publish");
  const isListing = ([, payload]: Parameters<typeof bulk.publish>) =>
    String(payload).includes("subjects_filter");
  return { connection: bulk, listings: () => publish.mock.calls.filter(isListing).length };
}

test("more lanes than one answer holds are counted, and those that are no lane's are not", async () => {
  await using world = await openWorld();
  const { consumers } = await jetstreamManager(world.broker.main, { checkAPI: false });
  const tenants = Array.from({ length: 300 }, (_, i): TenantId => parseTenantId(`t${i}`));
  for (const tenant of tenants) {
    const { consumer, filter } = jobLane(MODEL, { tenant, priority: "interactive" });
    const config = { durable_name: consumer, filter_subject: filter, ack_policy: AckPolicy.Explicit };
    await consumers.add(JOBS_STREAM, config);
  }
  const other = { durable_name: "other", filter_subject: "job.*.other.x", ack_policy: AckPolicy.Explicit };
  await consumers.add(JOBS_STREAM, other);
  await queue(world, "t0", 1);
  await queue(world, "t299", 2);
  expect((await new QueueDepths(world.broker.bulk).read()).models.get(MODEL)).toMatchObject({ queued: 3 });
});

test("throws broker_unavailable when the broker is gone", async () => {
  await using world = await openWorld();
  const depths = new QueueDepths(world.broker.bulk);
  await world.server.stop();
  await expect(depths.read()).rejects.toMatchObject({ code: "broker_unavailable" });
});
