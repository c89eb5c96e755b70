import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import { createInbox, type Msg, type NatsConnection } from "@nats-io/transport-node";
import {
  asSeq,
  encodeEvent,
  type GenerationRef,
  jobLane,
  JOBS_STREAM,
  modelJobs,
  parseTenantId,
  type Priority,
  wholeQueueConsumer,
} from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { connectBroker } from "@reprise/broker";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";
import { enqueueJob } from "../queue/enqueue-job.ts";
import type { Job } from "../queue/job.ts";
import { SlotsExchange } from "./slots-exchange.ts";
import type { TenantShare } from "./tenant-share.ts";
import { pullJobs, type PullOptions } from "../queue/pull-jobs.ts";

const MODEL = "m";

interface HowQueued {
  share?: TenantShare;
  priority?: Priority;
}

async function queue(world: World, tenant: string, jobs = 1, how: HowQueued = {}): Promise<GenerationRef[]> {
  const refs = Array.from({ length: jobs }, () => newRef(tenant));
  for (const ref of refs) {
    const payload = encodeEvent(asSeq(0), requested(ref));
    await enqueueJob(world.log.publish, { model: MODEL, ref, payload, ...how });
  }
  return refs;
}

/** A worker whose jobs run until they are ended one by one. */
async function work(world: World, options: Partial<PullOptions> = {}) {
  const jobs: Job[] = [];
  const ends = new Map<Job, () => void>();
  const puller = await pullJobs({
    connection: world.broker.main,
    model: MODEL,
    slots: 4,
    ackWaitMs: 60_000,
    onError: (error) => world.errors.push(error),
    ...options,
    async run(job) {
      jobs.push(job);
      await new Promise<void>((resolve) => ends.set(job, resolve));
      await job.ack();
    },
  });
  const end = (job: Job) => ends.get(job)!();
  const tenants = () => jobs.map(({ ref }) => ref.tenant);
  const close = () => {
    puller.stop();
    for (const job of jobs) end(job);
  };
  return { puller, jobs, tenants, end, [Symbol.dispose]: close };
}

test("a slot that becomes free goes to a tenant with fewer slots, however many jobs were queued before by another one", async () => {
  await using world = await openWorld();
  using worker = await work(world, { slots: 2 });
  await queue(world, "acme", 40);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "acme"]));
  await queue(world, "globex", 2);
  worker.end(worker.jobs[0]!);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "acme", "globex"]));
  worker.end(worker.jobs[2]!);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "acme", "globex", "globex"]));
  expect(world.errors).toEqual([]);
});

test("a slot that becomes free goes to a tenant with fewer slots, however many jobs of another one want to resume", async () => {
  await using world = await openWorld();
  using worker = await work(world, { slots: 2 });
  await queue(world, "acme", 6);
  for (let i = 0; i < 4; i++) {
    await eventually(() => expect(worker.jobs.length).toBeGreaterThan(i));
    worker.jobs[i]!.park();
  }
  await eventually(() => expect(worker.jobs).toHaveLength(6));
  const resumed: Job[] = [];
  const never = new AbortController().signal;
  for (const job of worker.jobs.slice(0, 4)) void job.unpark(never).then(() => resumed.push(job));
  await queue(world, "globex", 2);
  worker.end(worker.jobs[4]!);
  await eventually(() => expect(worker.tenants().slice(6)).toEqual(["globex"]));
  expect(resumed).toEqual([]);
  worker.end(worker.jobs[5]!);
  await eventually(() => expect(resumed).toEqual([worker.jobs[0]]));
  expect(world.errors).toEqual([]);
});

test("what still runs on a queue that has been stopped counts for its tenant at other workers", async () => {
  await using world = await openWorld();
  using retired = await work(world, { slots: 2 });
  await queue(world, "acme", 2);
  await eventually(() => expect(retired.jobs).toHaveLength(2));
  retired.puller.stop();
  const told: unknown[] = [];
  const other = new SlotsExchange({
    connection: world.broker.reads,
    model: MODEL,
    slots: () => 2,
    running: () => new Map(),
    held: () => 0,
    onOthers: ({ slots, running }) => told.push([slots, ...running]),
    onGone: () => {},
    onError: (error) => world.errors.push(error),
  });
  await eventually(() => expect(told.at(-1)).toEqual([0, ["acme", 2]]));
  for (const job of retired.jobs) retired.end(job);
  await eventually(() => expect(told.at(-1)).toEqual([0]));
  other.stop();
});

test("a tenant that had jobs lately is given a slot of the reserve though another one has queued more than all slots", async () => {
  await using world = await openWorld();
  using worker = await work(world, { slots: 4, reserve: 1 });
  await queue(world, "globex");
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  worker.end(worker.jobs[0]!);
  await queue(world, "acme", 40);
  await eventually(() => expect(worker.tenants().slice(1)).toEqual(["acme", "acme", "acme"]));
  await queue(world, "globex");
  await eventually(() => expect(worker.tenants().slice(4)).toEqual(["globex"]));
  expect(worker.puller.running).toBe(4);
});

test("a tenant's cap holds over several workers", async () => {
  await using world = await openWorld();
  const announced = announcements(world);
  const share = { weight: 1, maxRunning: 3 };
  using first = await work(world, { slots: 2 });
  await queue(world, "acme", 2, { share });
  await eventually(() => expect(first.jobs).toHaveLength(2));
  using second = await work(world, { slots: 4 });
  await eventually(() => expect([announced('"acme":2'), announced('"slots":4')]).toEqual([1, 1]));
  await queue(world, "acme", 5, { share });
  await queue(world, "globex", 3);
  await eventually(() => expect(second.tenants().toSorted()).toEqual(["acme", "globex", "globex", "globex"]));
});

test("workers that know of each other's slots share them by tenant, though each has only one", async () => {
  await using world = await openWorld();
  const announced = announcements(world);
  using first = await work(world, { slots: 1 });
  using second = await work(world, { slots: 1 });
  await queue(world, "acme", 20);
  await eventually(() => expect([first.jobs.length, second.jobs.length]).toEqual([1, 1]));
  // Both workers have said that they run a job of this tenant.
  await eventually(() => expect(announced('"acme":1')).toBe(2));
  await queue(world, "globex", 20);
  first.end(first.jobs[0]!);
  await eventually(() => expect(first.tenants()).toEqual(["acme", "globex"]));
});

test("a job that a worker gives back is pulled again before the next listing, though the first pull reaches the broker before it is back", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  const { connection, deliver } = holdNaks(world.broker.main);
  using worker = await work(world, { connection, slots: 1 });
  await queue(world, "acme");
  await eventually(() => expect(worker.tenants()).toEqual(["acme"]));
  await queue(world, "globex", 3);
  const [given] = worker.jobs;
  given!.release();
  given!.ack = async () => {};
  worker.end(given!);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "globex"]));
  // The first tenant is next, but its lane has no job: the slot goes to the other one.
  worker.end(worker.jobs[1]!);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "globex", "globex"]));
  deliver();
  await world.broker.main.flush();
  vi.advanceTimersByTime(1_000);
  worker.end(worker.jobs[2]!);
  await eventually(() => expect(worker.tenants()).toEqual(["acme", "globex", "globex", "acme"]));
  realTimers[Symbol.dispose]();
});

test("jobs of a worker that has fallen silent are found before the next listing", async () => {
  await using world = await openWorld();
  await using direct = await connectBroker({ url: world.server.url, name: "direct" });
  vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  const silent = await work(world, { connection: withoutGiving(direct.main), slots: 1 });
  await queue(world, "acme");
  await eventually(() => expect(silent.jobs).toHaveLength(1));
  using worker = await work(world, { slots: 1 });
  await queue(world, "globex", 3);
  await eventually(() => expect(worker.tenants()).toEqual(["globex"]));
  const announced = announcements(world);
  await world.broker.reads.flush();
  vi.advanceTimersByTime(3_000);
  await eventually(() => expect(announced('"acme":1')).toBe(1));
  await world.broker.main.flush();
  // Its job is at the broker again, as after the ack wait.
  silent.jobs[0]!.release();
  await direct[Symbol.asyncDispose]();
  silent.puller.stop();
  for (let seconds = 0; seconds < 9; seconds++) vi.advanceTimersByTime(1_000);
  // What is asked for later is answered later: by then the worker has its listing.
  const { streams } = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  for (let asked = 0; asked < 2; asked++) await streams.info(JOBS_STREAM);
  worker.end(worker.jobs[0]!);
  await eventually(() => expect(worker.tenants()).toEqual(["globex", "acme"]));
  realTimers[Symbol.dispose]();
});

test("jobs whose hint was lost are found by the next listing", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  using worker = await work(world, { connection: withoutHints(world.broker.main) });
  const [ref] = await queue(world, "acme");
  vi.advanceTimersByTime(15_000);
  await eventually(() => expect(worker.jobs.map((job) => job.ref)).toEqual([ref]));
  realTimers[Symbol.dispose]();
});

test("jobs that were queued before any worker was there are found when one starts", async () => {
  await using world = await openWorld();
  const tenants = ["acme", "globex", "initech"];
  for (const tenant of tenants) await queue(world, tenant, 2);
  using worker = await work(world, { slots: 6 });
  await eventually(() => expect(worker.tenants().toSorted()).toEqual(tenants.flatMap((one) => [one, one])));
});

test("a lane's consumer is there only while its tenant is active", async () => {
  await using world = await openWorld();
  const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const consumers = async () => (await manager.streams.info(JOBS_STREAM)).state.consumer_count;
  using worker = await work(world);
  expect(await consumers()).toBe(0);
  const [ref] = await queue(world, "acme");
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  const { config } = await manager.consumers.info(
    JOBS_STREAM,
    jobLane(MODEL, { tenant: ref!.tenant, priority: "interactive" }).consumer,
  );
  expect([await consumers(), config.inactive_threshold]).toEqual([1, 300_000 * 1_000_000]);
});

test("a broker that still has the consumer of workers without lanes loses it, and none of its jobs, running or waiting", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const { consumers } = await jetstreamManager(main, { timeout: PATIENCE_MS });
  const old = wholeQueueConsumer(MODEL);
  await consumers.add(JOBS_STREAM, {
    durable_name: old,
    filter_subject: modelJobs(MODEL),
    ack_policy: AckPolicy.Explicit,
  });
  const refs = [...(await queue(world, "acme", 2)), ...(await queue(world, "globex", 1))];
  // One of them runs at a worker without lanes.
  const inbox = createInbox();
  const pulled = Promise.withResolvers<Msg>();
  main.subscribe(inbox, { callback: (_, msg) => pulled.resolve(msg) });
  main.publish(`$JS.API.CONSUMER.MSG.NEXT.${JOBS_STREAM}.${old}`, '{"batch":1}', { reply: inbox });
  const job = await pulled.promise;
  using worker = await work(world);
  await eventually(() =>
    expect(worker.jobs.map(({ ref }) => ref.generation).toSorted()).toEqual(
      refs.map(({ generation }) => generation).toSorted(),
    ),
  );
  // What that one says of its job is void.
  job.respond("+ACK");
  await main.flush();
  expect(world.errors).toEqual([]);
});

test("a job that is larger than a pull may bring is reported and asked for again at the next renewal, not before", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  let pulls = 0;
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    if (subject.includes("MSG.NEXT")) pulls++;
    world.broker.main.publish(subject, payload, options);
  };
  using worker = await work(world, { connection: override(world.broker.main, { publish }) });
  const payload = new Uint8Array(2_000_000);
  await enqueueJob(world.log.publish, { model: MODEL, ref: newRef("acme"), payload });
  await eventually(() => expect(world.errors).toHaveLength(1));
  const before = pulls;
  for (let asked = 0; asked < 5; asked++) await world.broker.main.flush();
  expect([pulls - before, world.errors.length]).toEqual([0, 1]);
  vi.advanceTimersByTime(1_000);
  await eventually(() => expect(world.errors).toHaveLength(2));
  expect([worker.jobs, String(world.errors[0])]).toEqual([[], expect.stringContaining("bytes")]);
  world.errors.length = 0;
  realTimers[Symbol.dispose]();
});

test("a listing that is refused is reported, and asked for again after longer and longer pauses", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  let isRefused = false;
  let listings = 0;
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    const { main } = world.broker;
    if (!isRefused || !subject.includes("STREAM.INFO")) return main.publish(subject, payload, options);
    listings++;
    main.publish(options!.reply!, '{"error":{"code":500,"err_code":10077,"description":"refused"}}');
  };
  using worker = await work(world, { connection: override(world.broker.main, { publish }) });
  isRefused = true;
  for (let seconds = 0; seconds < 22; seconds++) {
    vi.advanceTimersByTime(1_000);
    const asked = listings;
    await eventually(() => expect(world.errors).toHaveLength(asked));
  }
  // After 15 seconds, then 1, 2 and 4 seconds after the one before.
  expect([listings, worker.jobs]).toEqual([4, []]);
  world.errors.length = 0;
  realTimers[Symbol.dispose]();
});

test("interactive jobs come before batch jobs of their tenant, which other tenants have not to wait for", async () => {
  await using world = await openWorld();
  using worker = await work(world, { slots: 1 });
  await queue(world, "acme");
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  const [early] = await queue(world, "acme", 1, { priority: "batch" });
  const [late] = await queue(world, "acme");
  const [globex] = await queue(world, "globex", 1, { priority: "batch" });
  for (const job of [0, 1, 2]) {
    worker.end(worker.jobs[job]!);
    await eventually(() => expect(worker.jobs).toHaveLength(job + 2));
  }
  expect(worker.jobs.slice(1).map(({ ref, priority }) => [ref, priority])).toEqual([
    [globex, "batch"],
    [late, "interactive"],
    [early, "batch"],
  ]);
});

test("a batch job that a worker gives back comes again, and as a batch job", async () => {
  await using world = await openWorld();
  using worker = await work(world, { slots: 2 });
  const [ref] = await queue(world, "acme", 1, { priority: "batch" });
  await eventually(() => expect(worker.jobs).toHaveLength(1));
  worker.jobs[0]!.release();
  await eventually(() => expect(worker.jobs).toHaveLength(2));
  expect(worker.jobs[1]).toMatchObject({ ref, priority: "batch", deliveries: 2 });
  expect(world.errors).toEqual([]);
});

/** The lane of a worker that knows no priorities. */
async function addLaneOfAllPriorities(world: World, tenant: string) {
  const { consumers } = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
  const lane = jobLane(MODEL, { tenant: parseTenantId(tenant), priority: "interactive" });
  await consumers.add(JOBS_STREAM, {
    durable_name: lane.consumer,
    filter_subject: lane.filter.replace("*", ">"),
    // The broker refuses to change it.
    max_waiting: 10_000,
    ack_policy: AckPolicy.Explicit,
  });
  return async () => (await consumers.info(JOBS_STREAM, lane.consumer)).config.filter_subject === lane.filter;
}

test.each<[Priority[]]>([[["batch"]], [["interactive"]], [["interactive", "batch"]]])(
  "a lane of workers that know no priorities is brought in line by the first that pulls from it: %j",
  async (priorities) => {
    await using world = await openWorld();
    const isInLine = await addLaneOfAllPriorities(world, "acme");
    const queued: string[] = [];
    for (const priority of priorities) {
      const refs = await queue(world, "acme", 2, { priority });
      queued.push(...refs.map(({ generation }) => `${generation} ${priority}`));
    }
    using worker = await work(world);
    await eventually(() => expect(worker.jobs).toHaveLength(queued.length));
    const ran = worker.jobs.map(({ ref, priority }) => `${ref.generation} ${priority}`);
    expect(ran.toSorted()).toEqual(queued.toSorted());
    expect(await isInLine()).toBe(true);
    expect(world.errors).toEqual([]);
  },
);

/** Counts the workers that have announced something about their slots. */
function announcements(world: World): (text: string) => number {
  const heard: string[] = [];
  world.broker.reads.subscribe("slots.>", { callback: (_, msg) => void heard.push(msg.string()) });
  return (text) => {
    const workers = heard.filter((said) => said.includes(text)).map((said) => said.split(",")[0]);
    return new Set(workers).size;
  };
}

/** A connection whose negative acknowledgements reach the broker when they are told to. */
function holdNaks(connection: NatsConnection) {
  const held: (() => void)[] = [];
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    const send = () => connection.publish(subject, payload, options);
    if (String(payload).startsWith("-NAK")) held.push(send);
    else send();
  };
  const deliver = () => held.splice(0).forEach((send) => send());
  return { connection: override(connection, { publish }), deliver };
}

/** A connection that hears of no job. */
function withoutHints(connection: NatsConnection): NatsConnection {
  const subscribe: NatsConnection["subscribe"] = (subject, options) =>
    connection.subscribe(subject.startsWith("queued.") ? `lost.${subject}` : subject, options);
  return override(connection, { subscribe });
}

/** A connection over which no worker hears that a job was given back. */
function withoutGiving(connection: NatsConnection): NatsConnection {
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    if (!subject.startsWith("queued.")) connection.publish(subject, payload, options);
  };
  return override(connection, { publish });
}

function override(connection: NatsConnection, methods: Partial<NatsConnection>): NatsConnection {
  return new Proxy(connection, {
    get(target, property) {
      if (Object.hasOwn(methods, property)) return Reflect.get(methods, property);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
