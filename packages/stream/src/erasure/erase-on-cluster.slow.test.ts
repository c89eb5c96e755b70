import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CHECKPOINTS_STREAM, type GenerationRef, jobSubject } from "@reprise/protocol";
import { eventually, startTestCluster, type TestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { storeCheckpoint } from "../append/checkpoint.ts";
import { connectBroker, type Publish, ensureTopology } from "@reprise/broker";
import { createGenerationLog } from "../read/generation-log.ts";
import { appendOne, appenderOf, completed, delta, newRef, requested, writeLog } from "../testing/world.ts";
import { fillStream, purgeFiller, streamsWithTextOf } from "./fill-stream.ts";
import { moveCheckpoints } from "./move-checkpoints.ts";
import { endGeneration, purgeGeneration } from "./purge-generation.ts";
import { readTextIntervals } from "./text-interval.ts";

const SECRET = "what-was-said-to-ann";
const RAFT_LOGS = "/_js_/";

async function openCluster() {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startTestCluster());
  const broker = stack.use(await connectBroker({ url: cluster.url, name: "test" }));
  const made = createGenerationLog(broker);
  await ensureTopology(broker.main, { shards: 2, replicas: 3, retentionMs: 3_600_000 });
  const patiently =
    (publish: Publish): Publish =>
    (subject, payload, options) =>
      publish(subject, payload, { timeoutMs: 60_000, ...options });
  const log = {
    ...made,
    publish: patiently(made.publish),
    publishCheckpoint: patiently(made.publishCheckpoint),
  };
  const kept = stack.move();
  return { cluster, broker, log, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The files of all servers that hold the secret: streams' and Raft logs. */
async function filesWithSecret({ nodes }: TestCluster): Promise<string[]> {
  const search = async (dir: string): Promise<string[]> => {
    const files = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((at) => at.isFile());
    const found = files.map(async ({ parentPath, name }) => {
      // The server may take it away meanwhile.
      const bytes = await readFile(join(parentPath, name)).catch(() => Buffer.alloc(0));
      return bytes.includes(SECRET) ? join(parentPath, name) : undefined;
    });
    return (await Promise.all(found)).filter((path) => path !== undefined);
  };
  return (await Promise.all(nodes.map(({ storeDir }) => search(storeDir)))).flat();
}

test("erased text is gone from the checkpoints and the Raft logs of every replica, without waiting for their next snapshot", async () => {
  await using world = await openCluster();
  const { cluster, broker, log } = world;
  const store = async (ref: GenerationRef) => {
    const snapshot = await log.reader.readLog(ref);
    await storeCheckpoint({ publish: log.publishCheckpoint, ref, snapshot, maxBytes: 1_000_000 });
  };
  const other = newRef();
  await appendOne(await writeLog(log, other, 3), completed());
  const ref = newRef();
  const writer = appenderOf(log, ref);
  for (const draft of [requested(ref), delta(SECRET), completed()]) await appendOne(writer, draft);
  await log.publishCheckpoint(jobSubject("sim", ref), Buffer.from(SECRET), {});
  for (const each of [ref, other]) await store(each);
  // Log, checkpoint and job, on each of three servers.
  const inRaftLogs = async () => (await filesWithSecret(cluster)).filter((path) => path.includes(RAFT_LOGS));
  await eventually(async () => expect(await inRaftLogs()).toHaveLength(9));

  const target = { broker, log, ref };
  await endGeneration(target);
  await purgeGeneration(target);
  for (const stream of streamsWithTextOf([ref.generation])) {
    const filled = await fillStream(target, stream);
    if (stream.stream === CHECKPOINTS_STREAM)
      await moveCheckpoints(target, await readTextIntervals(broker, [ref]));
    await purgeFiller(broker, stream, filled);
  }

  // The files of logs and jobs have their own time: docs/audit-lifecycle.md.
  const isBounded = (path: string) => path.includes(RAFT_LOGS) || path.includes(CHECKPOINTS_STREAM);
  await eventually(async () => expect((await filesWithSecret(cluster)).filter(isBounded)).toEqual([]));
  expect((await log.reader.readLog(other)).events).toHaveLength(5);
  await expect(log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
});
