import { encodeEvent, type EventDraft } from "@reprise/protocol";
import { expect, test } from "vitest";
import { enqueueJob } from "./enqueue-job.ts";
import { JobMemory } from "./job-memory.ts";
import { type Job, pullJobs } from "./jobs.ts";
import { eventually } from "./testing/eventually.ts";
import { newRef, openWorld, requested } from "./testing/world.ts";

const MIB = 1_024 * 1_024;
const JOBS = 80;

test("a queue of large jobs is taken part by part, within the worker's memory, and no connection is lost", async () => {
  await using world = await openWorld();
  const { bulk, main } = world.broker;
  const statuses: string[] = [];
  for (const connection of [bulk, main])
    void (async () => {
      for await (const { type } of connection.status()) statuses.push(type);
    })();
  for (let i = 0; i < JOBS; i++) {
    const ref = newRef();
    const draft = { ...requested(ref), request: { model: "m", input: "x".repeat(MIB) } } as EventDraft;
    const payload = encodeEvent(0, draft);
    await enqueueJob(world.log.publish, { model: "m", ref, payload });
  }

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
