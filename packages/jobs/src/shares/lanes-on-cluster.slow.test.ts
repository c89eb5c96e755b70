import { asSeq, encodeEvent, JOBS_STREAM } from "@reprise/protocol";
import { eventually, startTestCluster, type TestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker, ensureTopology } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { newRef, requested } from "@reprise/stream/testing";
import { enqueueJob } from "../queue/enqueue-job.ts";
import { pullJobs } from "../queue/pull-jobs.ts";

const MODEL = "m";
/** More than a worker's pulls wait for. */
const TENANTS = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);

async function openWorker({ url }: TestCluster, name: string, run: (generation: string) => void) {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await connectBroker({ url, name }));
  const errors: unknown[] = [];
  const puller = await pullJobs({
    connection: broker.bulk,
    model: MODEL,
    slots: 3,
    ackWaitMs: 5_000,
    async run(job) {
      await job.ack();
      run(job.ref.generation);
    },
    onError: (error) => errors.push(error),
  });
  stack.defer(() => puller.stop());
  const kept = stack.move();
  return { errors, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("jobs of many tenants are all run by two workers at three servers, and after the queue's leader was killed too", async () => {
  await using cluster = await startTestCluster();
  await using broker = await connectBroker({ url: cluster.url, name: "enqueuer" });
  const { publish } = createGenerationLog(broker);
  await ensureTopology(broker.main, { shards: 2, replicas: 3, retentionMs: 3_600_000 });
  const run = new Set<string>();
  await using first = await openWorker(cluster, "first", (generation) => void run.add(generation));
  await using second = await openWorker(cluster, "second", (generation) => void run.add(generation));
  const queued: string[] = [];
  const queueEach = async () => {
    for (const ref of TENANTS.map(newRef)) {
      const payload = encodeEvent(asSeq(0), requested(ref));
      await enqueueJob(publish, { model: MODEL, ref, payload, budgetMs: 60_000 });
      queued.push(ref.generation);
    }
  };
  const expectAllRun = () => expect(queued.filter((generation) => !run.has(generation))).toEqual([]);
  await queueEach();
  await eventually(expectAllRun);
  const leader = await eventually(async () => {
    const found = await cluster.leaderOf(JOBS_STREAM);
    expect(found).toBeDefined();
    return found!;
  });
  await leader.kill("SIGKILL");
  await queueEach();
  await eventually(expectAllRun);
  expect([first.errors, second.errors]).toEqual([[], []]);
});
