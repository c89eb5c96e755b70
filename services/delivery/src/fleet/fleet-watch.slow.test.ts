import { type Job, pullJobs } from "@reprise/jobs";
import { openBroker } from "@reprise/broker";
import { expect, test } from "vitest";
import { call, createGeneration, openPlatform, type Platform } from "../testing/platform.ts";

/** The model of requests that name none of their own. */
const MODEL = "sim";
const JOBS = `reprise_queue_jobs{model="${MODEL}"}`;
const OLDEST = `reprise_queue_oldest_seconds{model="${MODEL}"}`;

async function queueOf({ node }: Pick<Platform, "node">): Promise<Record<string, number>> {
  const { text } = await call(`${node.opsUrl}/metrics`);
  const lines = text.matchAll(/^(reprise_queue_(?:jobs|oldest_seconds)\{[^}]*\}) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
}

async function startWorker(platform: Platform, run: (job: Job) => Promise<void>) {
  const broker = await openBroker({
    url: platform.server.url,
    name: "worker",
    shards: 2,
    replicas: 1,
    retentionMs: 3_600_000,
    onError: () => {},
  });
  const options = { model: MODEL, slots: 2, ackWaitMs: 60_000, onError: () => {} };
  const puller = await pullJobs({ ...options, connection: broker.bulk, run });
  return { broker, puller };
}

test("every node tells Prometheus how many jobs wait and since when, and tells nothing before it knows", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  expect(await queueOf(platform)).toEqual({});
  const second = await platform.addNode({ liveTenants: true });
  for (let i = 0; i < 5; i++) await createGeneration(platform);
  const poll = (node: Pick<Platform, "node">) => expect.poll(() => queueOf(node), { interval: 500 });
  await poll(platform).toMatchObject({ [JOBS]: 5 });
  expect((await queueOf(platform))[OLDEST]).toBeGreaterThan(0);
  const end = Promise.withResolvers<void>();
  const { broker, puller } = await startWorker(platform, () => end.promise);
  await poll(platform).toMatchObject({ [JOBS]: 3 });
  await poll({ node: second }).toMatchObject({ [JOBS]: 3 });
  end.resolve();
  puller.stop();
  await broker.close();
});

test("the jobs of a worker that has died wait again, though no other worker takes them", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  for (let i = 0; i < 3; i++) await createGeneration(platform);
  const { broker, puller } = await startWorker(platform, () => new Promise(() => {}));
  const poll = () => expect.poll(() => queueOf(platform), { interval: 500 });
  await poll().toMatchObject({ [JOBS]: 1 });
  // A machine that dies sends no last announcement.
  await broker.bulk.close();
  puller.stop();
  await broker.close();
  await poll().toMatchObject({ [JOBS]: 3 });
});

test("no queue is told while the broker is away, and the queue of then afterwards", async () => {
  let problems: readonly string[] = [];
  const brokerWatch = { because: () => problems, onStale() {}, lastStreamSeq: () => undefined };
  await using platform = await openPlatform({ liveTenants: true, brokerWatch });
  const poll = () => expect.poll(() => queueOf(platform), { interval: 500 });
  await poll().toMatchObject({ [JOBS]: 0, [OLDEST]: 0 });
  problems = ["the broker does not answer"];
  expect(await queueOf(platform)).toEqual({});
  problems = [];
  await poll().toMatchObject({ [JOBS]: 0 });
});
