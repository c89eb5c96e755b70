import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { encodeEvent, type GenerationRef, jobLane, JOBS_STREAM, asSeq } from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { enqueueJob } from "./enqueue-job.ts";
import type { Job } from "./job.ts";
import { pullJobs } from "./pull-jobs.ts";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";

/** A connection whose n-th pull request is lost, as when the queue's leader dies with it, if `isLost(n)` says so. */
function losePulls(connection: NatsConnection, isLost: (nth: number) => boolean) {
  let pulls = 0;
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    if (!subject.startsWith("$JS.API.CONSUMER.MSG.NEXT.") || !isLost(pulls++))
      connection.publish(subject, payload, options);
  };
  const losing = new Proxy(connection, {
    get(target, property) {
      if (property === "publish") return publish;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { connection: losing, pulls: () => pulls };
}

test("pull requests that the broker has lost are renewed within seconds, not when they would have expired", async () => {
  await using world = await openWorld();
  const { connection } = losePulls(world.broker.main, (nth) => nth === 0);
  const { jobs, puller } = await pullTo(world, connection);
  const ref = await queueOne(world);
  await eventually(() => expect(jobs.map((job) => job.ref)).toEqual([ref]));
  await puller.idle();
  puller.stop();
  expect(world.errors).toEqual([]);
});

test("pull requests that the broker knows of are left alone, however long no job comes", async () => {
  await using world = await openWorld();
  const { connection, pulls } = losePulls(world.broker.main, () => false);
  const { jobs, puller } = await pullTo(world, connection);
  // From now on a pull waits for the tenant's next jobs.
  await queueOne(world);
  await eventually(() => expect([jobs.length, pulls()]).toEqual([1, 2]));
  let heartbeats = 0;
  world.broker.reads.subscribe("_INBOX.>", {
    callback: (_, msg) => void (msg.headers?.code === 100 && heartbeats++),
  });
  // Each makes a renewal, of which three without an answer are too many.
  await eventually(() => expect(heartbeats).toBeGreaterThan(5));
  expect([pulls(), world.errors]).toEqual([2, []]);
  puller.stop();
});

test("a lane whose consumer the broker has lost is opened again, and its jobs come", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const { jobs, puller } = await pullTo(world, main);
  const first = await queueOne(world);
  await eventually(() => expect(jobs).toHaveLength(1));
  const { consumer } = jobLane("m", { tenant: first.tenant, priority: "interactive" });
  await (await jetstreamManager(main, { timeout: PATIENCE_MS })).consumers.delete(JOBS_STREAM, consumer);
  const second = await queueOne(world);
  await eventually(() => expect(jobs.map((job) => job.ref)).toEqual([first, second]));
  await puller.idle();
  puller.stop();
  expect(world.errors).toEqual([]);
});

/** Pulls jobs, acknowledges each and keeps it. */
async function pullTo(world: World, connection: NatsConnection) {
  const jobs: Job[] = [];
  const puller = await pullJobs({
    connection,
    model: "m",
    slots: 2,
    ackWaitMs: 60_000,
    run: (job) => (jobs.push(job), job.ack()),
    onError: (error) => world.errors.push(error),
  });
  return { jobs, puller };
}

async function queueOne(world: World): Promise<GenerationRef> {
  const ref = newRef();
  await enqueueJob(world.log.publish, { model: "m", ref, payload: encodeEvent(asSeq(0), requested(ref)) });
  return ref;
}
