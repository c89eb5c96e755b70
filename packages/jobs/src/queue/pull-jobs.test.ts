import { jetstreamManager } from "@nats-io/jetstream";
import { encodeEvent, jobLane, JOBS_STREAM, parseTenantId, asSeq } from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { connectBroker, type Publish } from "@reprise/broker";
import { enqueueJob } from "./enqueue-job.ts";
import type { Job } from "./job.ts";
import { pullJobs, type PullOptions } from "./pull-jobs.ts";
import { newRef, openWorld, openWorldBehindProxy, requested, type World } from "@reprise/stream/testing";

const MODEL = "org/model-1.5";
const LANE = jobLane(MODEL, { tenant: parseTenantId("acme"), priority: "interactive" });

async function enqueue(world: World, count: number, model = MODEL): Promise<string[]> {
  const refs = Array.from({ length: count }, () => newRef());
  await Promise.all(
    refs.map((ref) =>
      enqueueJob(world.log.publish, { model, ref, payload: encodeEvent(asSeq(0), requested(ref)) }),
    ),
  );
  return refs.map(({ generation }) => generation);
}

/** A worker that keeps what it is given in `jobs`. */
async function work(world: World, options: Partial<PullOptions> = {}) {
  const jobs: Job[] = [];
  const puller = await pullJobs({
    connection: world.broker.main,
    model: MODEL,
    slots: 10,
    ackWaitMs: 60_000,
    onError: (error) => world.errors.push(error),
    ...options,
    run: async (job) => {
      jobs.push(job);
      await options.run?.(job);
    },
  });
  return { puller, jobs, [Symbol.dispose]: () => puller.stop() };
}

async function queuedJobs(world: World): Promise<number> {
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  return (await manager.streams.info(JOBS_STREAM)).state.messages;
}

test("a job is handed out as it was queued, and is gone once it is done", async () => {
  await using world = await openWorld();
  using worker = await work(world, { run: (job) => job.ack() });
  const ref = newRef("acme");
  const payload = encodeEvent(asSeq(0), requested(ref));
  expect(await enqueueJob(world.log.publish, { model: MODEL, ref, payload })).toEqual({ duplicate: false });
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  expect(worker.jobs[0]).toMatchObject({ ref, model: MODEL, payload });
  await worker.puller.idle();
  expect(await queuedJobs(world)).toBe(0);
});

test("a generation that is queued twice is one job", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const job = { model: MODEL, ref, payload: encodeEvent(asSeq(0), requested(ref)) };
  const answers = [await enqueueJob(world.log.publish, job), await enqueueJob(world.log.publish, job)];
  expect(answers).toEqual([{ duplicate: false }, { duplicate: true }]);
  expect(await queuedJobs(world)).toBe(1);
});

test("slots are never exceeded, and every job is run once", async () => {
  await using world = await openWorld();
  let running = 0;
  let most = 0;
  const full = Promise.withResolvers<void>();
  using worker = await work(world, {
    slots: 7,
    async run(job) {
      most = Math.max(most, ++running);
      if (running === 7) full.resolve();
      await full.promise;
      await job.ack();
      running--;
    },
  });
  const queued = await enqueue(world, 100);
  await eventually(() => expect(worker.jobs).toHaveLength(100));
  await worker.puller.idle();
  expect(most).toBe(7);
  expect(worker.jobs.map(({ ref }) => ref.generation).toSorted()).toEqual(queued.toSorted());
  expect(await queuedJobs(world)).toBe(0);
});

test("several workers share a queue, none beyond its slots", async () => {
  await using world = await openWorld();
  const hold = Promise.withResolvers<void>();
  const run = () => hold.promise;
  using first = await work(world, { slots: 3, run });
  using second = await work(world, { slots: 2, run });
  await enqueue(world, 20);
  await eventually(() => expect([first.jobs.length, second.jobs.length]).toEqual([3, 2]));
  expect([first.puller.running, second.puller.running]).toEqual([3, 2]);
  first.puller.stop();
  second.puller.stop();
  hold.resolve();
});

test("a worker gets the jobs of its model and no others", async () => {
  await using world = await openWorld();
  using worker = await work(world, { model: "a" });
  await enqueue(world, 3, "a.b");
  const [mine] = await enqueue(world, 1, "a");
  await eventually(() => expect(worker.jobs.map(({ ref }) => ref.generation)).toEqual([mine]));
  expect(await queuedJobs(world)).toBe(4);
});

test("a silent worker's job goes to another, and a worker with heartbeats keeps its own", async () => {
  await using world = await openWorld();
  const [silent, busy] = [await enqueue(world, 1, "silent"), await enqueue(world, 1, "busy")];
  const hold = Promise.withResolvers<void>();
  const run = () => hold.promise;
  const base = { slots: 1, ackWaitMs: 4_000, run };
  using dead = await work(world, { ...base, model: "silent" });
  using alive = await work(world, { ...base, model: "busy" });
  await eventually(() => expect([dead.jobs.length, alive.jobs.length]).toEqual([1, 1]));
  const heartbeat = setInterval(() => alive.jobs[0]!.working(), 100);
  using heir = await work(world, { ...base, model: "silent" });
  using idle = await work(world, { ...base, model: "busy" });
  await eventually(() => expect(heir.jobs.map(({ ref }) => ref.generation)).toEqual(silent));
  // By now the busy one's time would have passed as well.
  expect([idle.jobs, alive.jobs.map(({ ref }) => ref.generation)]).toEqual([[], busy]);
  clearInterval(heartbeat);
  hold.resolve();
});

test("a worker that sleeps is given nothing any more before its own jobs go to others", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await connectBroker({ url: world.server.url, name: "awake" });
  using sleeping = await work(world, { ackWaitMs: 1_000 });
  await enqueue(world, 1);
  await eventually(() => expect(sleeping.jobs).toHaveLength(1));
  const manager = await jetstreamManager(direct.main, { timeout: PATIENCE_MS });
  const waiting = async () => (await manager.consumers.info(JOBS_STREAM, LANE.consumer)).num_waiting;
  await eventually(async () => expect(await waiting()).toBeGreaterThan(0));
  // As it does for as long as it is awake: what has gone by until here doesn't count.
  sleeping.jobs.at(-1)!.working();
  await world.broker.main.flush();
  const { deliveries } = sleeping.jobs.at(-1)!;
  world.proxy.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } });
  await eventually(async () => expect(await waiting()).toBe(0));
  using awake = await work(world, { connection: direct.main, ackWaitMs: 1_000 });
  await eventually(() => expect(awake.jobs).toHaveLength(1));
  // The sleeping one has not had it a second time in between.
  expect(awake.jobs[0]!.deliveries).toBe(deliveries + 1);
  world.proxy.setFaults({});
});

test("a job that is released goes to another worker at once", async () => {
  await using world = await openWorld();
  const hold = Promise.withResolvers<void>();
  using first = await work(world, { slots: 1, run: () => hold.promise });
  const [queued] = await enqueue(world, 1);
  await eventually(() => expect(first.jobs).toHaveLength(1));
  using second = await work(world, { slots: 1, run: () => hold.promise });
  first.jobs[0]!.release();
  await eventually(() => expect(second.jobs.map(({ ref }) => ref.generation)).toEqual([queued]));
  expect([first.jobs[0]!.deliveries, second.jobs[0]!.deliveries]).toEqual([1, 2]);
  hold.resolve();
});

test("a job whose run fails is reported and run again", async () => {
  await using world = await openWorld();
  const defect = new Error("a defect in a worker");
  let tries = 0;
  using worker = await work(world, { run: (job) => (tries++ === 0 ? Promise.reject(defect) : job.ack()) });
  const [queued] = await enqueue(world, 1);
  await eventually(() => expect(worker.jobs.map(({ ref }) => ref.generation)).toEqual([queued, queued]));
  await worker.puller.idle();
  expect(world.errors).toEqual([defect]);
  expect(await queuedJobs(world)).toBe(0);
});

test("a run that throws at once is like one that fails, and costs no slot", async () => {
  await using world = await openWorld();
  let tries = 0;
  const run = (job: Job) => {
    if (tries++ === 0) throw new Error("a defect in a worker");
    return job.ack();
  };
  const jobs: Job[] = [];
  const puller = await pullJobs({
    connection: world.broker.main,
    model: MODEL,
    slots: 1,
    ackWaitMs: 60_000,
    onError: (error) => world.errors.push(error),
    run: (job) => (jobs.push(job), run(job)),
  });
  await enqueue(world, 1);
  await eventually(() => expect(jobs).toHaveLength(2));
  expect(world.errors).toHaveLength(1);
  await puller.idle();
  puller.stop();
});

test("a message that is not a job is reported and terminated, and delays no job after it", async () => {
  await using world = await openWorld();
  const { filter } = LANE;
  await world.log.publish(filter.replace("*", "not-a-job"), Buffer.from("{}"), {});
  const queued = await enqueue(world, 3);
  using worker = await work(world, { slots: 1, run: (job) => job.ack() });
  await eventually(() => expect(worker.jobs.map(({ ref }) => ref.generation)).toEqual(queued));
  await eventually(async () => expect(await queuedJobs(world)).toBe(0));
  expect(world.errors).toMatchObject([{ code: "protocol_violation" }]);
});

test("a pull request that has expired is repeated at once, without waiting for the next renewal", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  const waits: string[] = [];
  const secondWait = Promise.withResolvers<void>();
  const { main } = world.broker;
  const publish: typeof main.publish = (subject, payload, options) => {
    if (!subject.startsWith("$JS.API.CONSUMER.MSG.NEXT.")) return main.publish(subject, payload, options);
    const { batch, expires } = JSON.parse(String(payload)) as { batch: number; expires?: number };
    if (expires === undefined) return main.publish(subject, payload, options);
    if (waits.push(subject) === 2) secondWait.resolve();
    main.publish(subject, JSON.stringify({ batch, expires: 50_000_000 }), options);
  };
  const connection = new Proxy(main, {
    get(target, property) {
      if (property === "publish") return publish;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  using worker = await work(world, { connection, run: (job) => job.ack() });
  await enqueue(world, 1);
  await secondWait.promise;
  expect([worker.jobs.length, new Set(waits).size]).toEqual([1, 1]);
  realTimers[Symbol.dispose]();
});

test("jobs continue coming after the broker was away", async () => {
  await using world = await openWorld();
  using worker = await work(world, { run: (job) => job.ack() });
  await enqueue(world, 1);
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  await world.server.kill("SIGKILL");
  await world.server.restart();
  await eventually(() => enqueue(world, 5));
  await eventually(() => expect(worker.jobs.length).toBeGreaterThanOrEqual(6));
});

test("a job that the broker has lost meanwhile can be ended like any other", async () => {
  await using world = await openWorld();
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const run = async (job: Job) => {
    // No server is there to receive it.
    await manager.streams.delete(JOBS_STREAM);
    await job.ack();
  };
  using worker = await work(world, { run });
  await enqueue(world, 1);
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  await worker.puller.idle();
  expect(world.errors).toEqual([]);
});

test("a stopped worker takes no more jobs, and is idle when those that run have ended", async () => {
  await using world = await openWorld();
  const hold = Promise.withResolvers<void>();
  using first = await work(world, { slots: 2, run: () => hold.promise });
  await enqueue(world, 2);
  await eventually(() => expect(first.puller.running).toBe(2));
  first.puller.stop();
  let isIdle = false;
  const idle = first.puller.idle().then(() => (isIdle = true));
  const later = await enqueue(world, 3);
  using second = await work(world, { slots: 10 });
  await eventually(() =>
    expect(second.jobs.map(({ ref }) => ref.generation).toSorted()).toEqual(later.toSorted()),
  );
  expect([isIdle, first.jobs.length]).toEqual([false, 2]);
  hold.resolve();
  await idle;
  expect(first.puller.running).toBe(0);
});

test("jobs that are on their way to a worker that stops go to another at once", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await connectBroker({ url: world.server.url, name: "direct" });
  let done = 0;
  using first = await work(world, { slots: 5, run: async (job) => job.ack().then(() => void done++) });
  const manager = await jetstreamManager(direct.main, { timeout: PATIENCE_MS });
  const state = () => manager.consumers.info(JOBS_STREAM, LANE.consumer);
  // A pull waits for the tenant's next jobs.
  await enqueue(world, 1);
  await eventually(() => expect(done).toBe(1));
  await eventually(async () => expect((await state()).num_waiting).toBe(1));
  first.jobs.length = 0;
  world.proxy.setFaults({ toClient: { stalled: true } });
  const enqueuing = enqueue(world, 5);
  await eventually(async () => expect((await state()).num_ack_pending).toBe(5));
  first.puller.stop();
  world.proxy.setFaults({});
  using second = await work(world, { slots: 5, connection: direct.main });
  await eventually(() => expect(second.jobs).toHaveLength(5));
  expect([first.jobs, second.jobs.map(({ ref }) => ref.generation).toSorted()]).toEqual([
    [],
    (await enqueuing).toSorted(),
  ]);
});

test("a job that ends after its connection was closed is left to the broker", async () => {
  await using world = await openWorld();
  const hold = Promise.withResolvers<void>();
  using worker = await work(world, { run: () => hold.promise });
  await enqueue(world, 1);
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  worker.puller.stop();
  await world.broker.close();
  worker.jobs[0]!.working();
  hold.reject(new Error("closed under the worker"));
  await worker.puller.idle();
  expect(worker.puller.running).toBe(0);
});

test("a lane's ack wait is that of the worker that opened it last", async () => {
  await using world = await openWorld();
  const hold = Promise.withResolvers<void>();
  const run = () => hold.promise;
  using first = await work(world, { slots: 1, ackWaitMs: 5_000, run });
  await enqueue(world, 2);
  await eventually(() => expect(first.jobs).toHaveLength(1));
  using second = await work(world, { slots: 1, ackWaitMs: 7_000, run });
  await eventually(() => expect(second.jobs).toHaveLength(1));
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const { config } = await manager.consumers.info(JOBS_STREAM, LANE.consumer);
  expect(config.ack_wait).toBe(7_000 * 1_000_000);
  hold.resolve();
});

test("a job that still waits is not queued twice, whenever the second try comes", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const job = { model: MODEL, ref, payload: encodeEvent(asSeq(0), requested(ref)) };
  // Without message ids, as if the duplicate window had passed.
  const publish: Publish = (subject, payload, { messageId: _forgotten, ...options }) =>
    world.log.publish(subject, payload, options);
  const answers = [await enqueueJob(publish, job), await enqueueJob(publish, job)];
  expect(answers).toEqual([{ duplicate: false }, { duplicate: true }]);
});

test("queueing a job rides out a broker that is away for a while", async () => {
  await using world = await openWorld();
  const ref = newRef();
  let tries = 0;
  const publish: Publish = async (...call) =>
    ++tries < 4 ? { kind: "unavailable", reason: "no_responders" } : world.log.publish(...call);
  await enqueueJob(publish, { model: MODEL, ref, payload: encodeEvent(asSeq(0), requested(ref)) });
  expect(tries).toBe(4);
});

test("without a broker a job is not queued, and the caller is told", async () => {
  await using world = await openWorld();
  await world.server.stop();
  const ref = newRef();
  const job = { model: MODEL, ref, payload: encodeEvent(asSeq(0), requested(ref)), budgetMs: 200 };
  await expect(enqueueJob(world.log.publish, job)).rejects.toMatchObject({
    code: "broker_unavailable",
    retryable: true,
  });
});
