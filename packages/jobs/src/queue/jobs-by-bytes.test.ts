import { encodeEvent, type EventDraft, asSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { enqueueJob } from "./enqueue-job.ts";
import { JobMemory } from "./job-memory.ts";
import type { Job } from "./job.ts";
import { pullJobs } from "./pull-jobs.ts";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";

const MIB = 1_024 * 1_024;
const JOBS = 80;

afterEach(() => void vi.restoreAllMocks());

async function queueLarge(world: World, model: string, tenant?: string): Promise<void> {
  const ref = newRef(tenant);
  const draft = { ...requested(ref), request: { model, input: "x".repeat(MIB) } } as EventDraft;
  await enqueueJob(world.log.publish, { model, ref, payload: encodeEvent(asSeq(0), draft) });
}

test("memory that a job of one model gives back is asked for by the other models at once", async () => {
  await using world = await openWorld();
  // Requests are renewed every second as well.
  vi.spyOn(globalThis, "setInterval").mockImplementation(() => setTimeout(() => {}, 0));
  const memory = new JobMemory(2 * MIB);
  const begun: string[] = [];
  const last = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const pull = (model: string) =>
    pullJobs({
      connection: world.broker.bulk,
      model,
      slots: 4,
      memory,
      ackWaitMs: 60_000,
      async run(job) {
        begun.push(model);
        await (model === "a" ? end : last).promise;
        await job.ack();
      },
      onError: (error) => world.errors.push(error),
    });
  const first = await pull("a");
  await queueLarge(world, "a");
  await eventually(() => expect(begun).toEqual(["a"]));
  const other = await pull("b");
  await queueLarge(world, "b");
  end.resolve();
  await eventually(() => expect(begun).toEqual(["a", "b"]));
  last.resolve();
  await Promise.all([first.idle(), other.idle()]);
  first.stop();
  other.stop();
  expect([memory.held, world.errors]).toEqual([0, []]);
});

test("a queue of large jobs is taken part by part, within the worker's memory, and no connection is lost", async () => {
  await using world = await openWorld();
  const { bulk, main } = world.broker;
  const statuses: string[] = [];
  for (const connection of [bulk, main])
    void (async () => {
      for await (const { type } of connection.status()) statuses.push(type);
    })();
  for (let i = 0; i < JOBS; i++) await queueLarge(world, "m");

  const memory = new JobMemory(12 * MIB);
  const full = Promise.withResolvers<void>();
  const done: Job[] = [];
  let most = 0;
  let running = 0;
  const puller = await pullJobs({
    connection: bulk,
    model: "m",
    slots: JOBS,
    memory,
    ackWaitMs: 60_000,
    async run(job) {
      most = Math.max(most, memory.held);
      if (++running === 5) full.resolve();
      await full.promise;
      await job.ack();
      done.push(job);
    },
    onError: (error) => world.errors.push(error),
  });
  await eventually(() => expect(done).toHaveLength(JOBS));
  await puller.idle();
  puller.stop();
  expect(most).toBeGreaterThan(4 * MIB);
  expect(most).toBeLessThanOrEqual(12 * MIB);
  expect([memory.held, new Set(done.map(({ ref }) => ref.generation)).size]).toEqual([0, JOBS]);
  expect(done.every(({ deliveries }) => deliveries === 1)).toBe(true);
  expect([statuses.filter((type) => type === "disconnect"), world.errors]).toEqual([[], []]);
});

test("a tenant whose parked jobs are large leaves half of the memory to the others", async () => {
  await using world = await openWorld();
  const memory = new JobMemory(8 * MIB);
  const begun: Job[] = [];
  const end = Promise.withResolvers<void>();
  const puller = await pullJobs({
    connection: world.broker.bulk,
    model: "m",
    slots: 4,
    memory,
    ackWaitMs: 60_000,
    async run(job) {
      begun.push(job);
      job.park();
      await end.promise;
      await job.ack();
    },
    onError: (error) => world.errors.push(error),
  });
  for (let i = 0; i < 10; i++) await queueLarge(world, "m", "acme");
  await eventually(() => expect(memory.held).toBeGreaterThan(3 * MIB));
  await queueLarge(world, "m", "globex");
  await eventually(() => expect(begun.map(({ ref }) => ref.tenant)).toContain("globex"));
  // A pull that was under way may have brought more than the half.
  expect(begun.filter(({ ref }) => ref.tenant === "acme").length).toBeLessThan(8);
  end.resolve();
  await eventually(() => expect(begun).toHaveLength(11));
  await puller.idle();
  puller.stop();
  expect([memory.held, world.errors]).toEqual([0, []]);
});
