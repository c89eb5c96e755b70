import { jetstreamManager } from "@nats-io/jetstream";
import { createWriterName } from "@reprise/broker";
import { enqueueJob, publishPresence, readPresence, openJobs } from "@reprise/jobs";
import {
  encodeEvent,
  type EventDraft,
  type Generation,
  type GenerationRef,
  JOBS_STREAM,
  logSubject,
  parseNodeId,
  tightenPolicy,
  type Policy,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createLogger } from "@reprise/runtime";
import { createRef, openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  openWorker,
  type Platform,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { Reaper } from "./reaper.ts";

const LEASE_MS = 1_000;
const headers = authorization();
const create = (platform: Platform, policy: Policy) =>
  createGeneration(platform, { body: { ...REQUEST, policy } });
const queueTimeout = (after_ms: number, answer?: "complete" | "fail"): Policy => ({
  timeouts: { queue: { after_ms, ...(answer && { answer }) } },
});

/** A generation that is written before its job is queued: no reaper meets it sooner than the test lets one, however slow the machine is. */
async function write({ log }: Platform, policy: Policy, ...drafts: readonly EventDraft[]) {
  const ref = createRef();
  const payload = encodeEvent(asSeq(0), requestedOf(ref, policy));
  const stored = await log.publish(logSubject(ref), payload, {
    expectedLast: asStreamSeq(0),
    writer: createWriterName(),
  });
  expect(stored.kind).toBe("stored");
  const worker = await openWorker(log, ref);
  await append(worker, ...drafts);
  const queue = () => enqueueJob(log.publish, { model: REQUEST.model, ref, payload });
  return { ref, path: `/v1/generations/${ref.generation}`, worker, queue };
}

/** Counts the nodes that have announced readers of a generation. */
const countNodes = async ({ broker }: Platform, ref: GenerationRef) =>
  (await readPresence(broker.main, ref)).records.length;

async function eventsOf({ log }: Platform, ref: GenerationRef) {
  const events = await log.leader.readTail(ref, asStreamSeq(0));
  return events.map(({ payload }) => JSON.parse(Buffer.from(payload).toString()) as { type: string });
}

async function endsOf(platform: Platform, ref: GenerationRef): Promise<string[]> {
  const types = (await eventsOf(platform, ref)).map(({ type }) => type);
  return types.filter((type) => /^generation\.(completed|failed|cancelled)$/.test(type));
}

/** The generation once it has ended, without ever having had a reader. */
async function ended(platform: Platform, ref: GenerationRef): Promise<Generation> {
  await expect.poll(() => endsOf(platform, ref)).toHaveLength(1);
  const { json } = await call(`${platform.node.url}/v1/generations/${ref.generation}`);
  return json as Generation;
}

const isQueued = async ({ broker }: Platform, ref: GenerationRef) =>
  (await openJobs.readJob(broker.bulk, { ref, model: REQUEST.model, priority: "interactive" })) !== undefined;

async function reaped(platform: Platform, reason: string, { opsUrl } = platform.node): Promise<number> {
  const { text } = await call(`${opsUrl}/metrics`);
  return Number(
    new RegExp(`^reprise_generations_reaped_total\\{reason="${reason}",fault="\\w+"\\} (\\d+)$`, "m").exec(
      text,
    )?.[1] ?? 0,
  );
}

/** Another generation of the same shard. */
function besides(ref: GenerationRef): GenerationRef {
  const id = ref.generation.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  return { ...ref, generation: id as GenerationRef["generation"] };
}

describe("a generation that no worker takes", () => {
  test("fails in bounded time without readers, and leaves no job behind", async () => {
    await using platform = await openPlatform();
    const { ref } = await create(platform, queueTimeout(300));
    expect(await ended(platform, ref)).toMatchObject({
      status: "failed",
      error: { code: "queue_timeout", retryable: true },
    });
    await expect.poll(() => isQueued(platform, ref)).toBe(false);
    expect(await reaped(platform, "queue_timeout")).toBe(1);
  });

  test("completes, where its policy would rather have that", async () => {
    await using platform = await openPlatform();
    const { ref } = await create(platform, queueTimeout(300, "complete"));
    expect(await ended(platform, ref)).toMatchObject({ status: "completed", finish_reason: "timeout" });
  });

  test("ends though its creator died before its log began", async () => {
    await using platform = await openPlatform();
    const { ref } = await create(platform, {});
    const orphan = besides(ref);
    const payload = encodeEvent(asSeq(0), requestedOf(orphan, queueTimeout(300)));
    await enqueueJob(platform.log.publish, { model: "sim", ref: orphan, payload });
    expect(await ended(platform, orphan)).toMatchObject({ error: { code: "queue_timeout" } });
    expect((await eventsOf(platform, orphan)).map(({ type }) => type)).toEqual([
      "generation.requested",
      "generation.failed",
    ]);
  });

  test("ends by a node that was started after its time was up", async () => {
    await using platform = await openPlatform({ models: new Set(["sim"]) });
    const { ref } = await create(platform, queueTimeout(1));
    await platform.node[Symbol.asyncDispose]();
    const later = await platform.addNode();
    expect(await ended({ ...platform, node: later }, ref)).toMatchObject({
      error: { code: "queue_timeout" },
    });
  });

  test("is left alone once a worker has begun", async () => {
    await using platform = await openPlatform();
    const { ref, queue } = await write(platform, queueTimeout(300), started(), delta("a"));
    await queue();
    await ended(platform, (await create(platform, queueTimeout(600))).ref);
    expect(await endsOf(platform, ref)).toEqual([]);
    expect(await isQueued(platform, ref)).toBe(true);
  });
});

test("a generation ends though the broker has lost its job, and given the job's place to another", async () => {
  await using platform = await openPlatform();
  const { broker, log } = platform;
  const { ref: first } = await create(platform, queueTimeout(3_000));
  await platform.node[Symbol.asyncDispose]();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logger = createLogger({ service: "test", destination });
  const reaper = new Reaper({ broker, log, logger, leaseMs: LEASE_MS, onEnded: () => {} });
  // Where the machine stood still for so long, it has ended the first one by now.
  await expect.poll(async () => reaper.watched + (await endsOf(platform, first)).length).toBeGreaterThan(0);
  const manager = await jetstreamManager(broker.main);
  const { config } = await manager.streams.info(JOBS_STREAM);
  await manager.streams.delete(JOBS_STREAM);
  await manager.streams.add(config);
  await broker.main.reconnect();
  const second = besides(first);
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const payload = encodeEvent(asSeq(0), {
    ...requestedOf(second, queueTimeout(3_000)),
    traceparent,
  } as EventDraft);
  await enqueueJob(log.publish, { model: REQUEST.model, ref: second, payload });
  await expect.poll(() => endsOf(platform, second)).toEqual(["generation.failed"]);
  await expect.poll(() => endsOf(platform, first)).toEqual(["generation.failed"]);
  await reaper.close();
  const line = lines.find(({ generation }) => generation === second.generation);
  expect(line).toMatchObject({ reason: "queue_timeout", trace_id: "a".repeat(32) });
});

test("a job whose generation has ended is taken out of the queue", async () => {
  await using platform = await openPlatform();
  const { ref, queue } = await write(platform, queueTimeout(300), started(), completed());
  await queue();
  await expect.poll(() => isQueued(platform, ref)).toBe(false);
  expect(await endsOf(platform, ref)).toEqual(["generation.completed"]);
});

test("three reapers at once end every generation once, each counted once", async () => {
  await using platform = await openPlatform();
  const nodes = [platform.node, await platform.addNode(), await platform.addNode()];
  const created = await Promise.all(
    Array.from({ length: 60 }, (_, i) => create(platform, queueTimeout(500 + 10 * i))),
  );
  // Some begin in the very moment in which they are given up: either the worker or the reapers win, never both.
  for (const { worker } of created.slice(0, 20)) worker.append(started());
  for (const { ref } of created.slice(20)) await ended(platform, ref);
  for (const { ref } of created) expect((await endsOf(platform, ref)).length).toBeLessThanOrEqual(1);
  const uncounted = async () => {
    const ends = await Promise.all(created.map(({ ref }) => endsOf(platform, ref)));
    const counts = await Promise.all(nodes.map((node) => reaped(platform, "queue_timeout", node)));
    return ends.flat().length - counts.reduce((sum, count) => sum + count);
  };
  // A reaper counts an end when it is told that it is stored, which others may have seen before.
  await expect.poll(uncounted).toBe(0);
});

describe("a generation whose policy ends it without readers", () => {
  const policy: Policy = { on_disconnect: { cancel_after: 500 } };
  const abandoned = { type: "generation.cancelled", reason: "abandoned" };

  test("is cancelled when its last reader has left, and not while there is one", async () => {
    await using platform = await openPlatform({ readerLeaseMs: LEASE_MS });
    const { ref, path, queue } = await write(platform, policy, started());
    await using staying = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    await using leaving = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    await leaving.nextFrame();
    await expect.poll(() => countNodes(platform, ref)).toBe(1);
    await queue();
    leaving.cut();
    // Another one whose time is up proves that the reapers have swept meanwhile.
    await ended(platform, (await create(platform, policy)).ref);
    expect(await endsOf(platform, ref)).toEqual([]);
    staying.cut();
    expect(await ended(platform, ref)).toMatchObject({ status: "cancelled" });
    expect((await eventsOf(platform, ref)).at(-1)).toMatchObject(abandoned);
    await expect.poll(() => reaped(platform, "abandoned")).toBe(2);
  });

  test("counts readers at all nodes, and one that comes back in time, to whichever, prevents it", async () => {
    await using platform = await openPlatform({ readerLeaseMs: LEASE_MS });
    const other = await platform.addNode({ readerLeaseMs: LEASE_MS });
    const unhurried: Policy = { on_disconnect: { cancel_after: 10_000 } };
    const { ref, path, worker, queue } = await write(platform, unhurried, started());
    await using first = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    await first.nextFrame();
    await expect.poll(() => countNodes(platform, ref)).toBe(1);
    await queue();
    first.cut();
    await using second = await openSseReader(`${other.url}${path}/events`, { headers });
    await second.nextFrame();
    await ended(platform, (await create(platform, unhurried)).ref);
    expect(await endsOf(platform, ref)).toEqual([]);
    await append(worker, completed());
    expect(await second.ended).toBe("clean");
  });

  test("is cancelled when the node of its readers has died", async () => {
    await using platform = await openPlatform({ readerLeaseMs: LEASE_MS });
    const { ref, worker } = await create(platform, policy);
    await append(worker, started());
    const node = parseNodeId("dead");
    await publishPresence(platform.log.publish, { ref, node }, { readers: 3, seq: asSeq(1) });
    expect(await ended(platform, ref)).toMatchObject({ status: "cancelled" });
  });

  test("is not cancelled while a client reads it page by page", async () => {
    await using platform = await openPlatform({ readerLeaseMs: LEASE_MS });
    const { ref, path, queue } = await write(platform, { on_disconnect: { cancel_after: 8_000 } }, started());
    const done = new AbortController();
    const polling = (async () => {
      while (!done.signal.aborted)
        await call(`${platform.node.url}${path}/events?after=1-1&wait=300`, {
          headers: { accept: "application/json" },
        });
    })();
    await expect.poll(() => countNodes(platform, ref)).toBe(1);
    await queue();
    await ended(platform, (await create(platform, { on_disconnect: { cancel_after: 10_000 } })).ref);
    expect(await endsOf(platform, ref)).toEqual([]);
    done.abort();
    await polling;
    expect(await ended(platform, ref)).toMatchObject({ status: "cancelled" });
  });

  test("survives an outage of the broker that is longer than all its times, though its reader is late to come back", async () => {
    await using platform = await openPlatform({ readerLeaseMs: 5 * LEASE_MS });
    const { ref: overdue } = await create(platform, queueTimeout(3_000));
    const { ref: unread } = await create(platform, { on_disconnect: { cancel_after: 15_000 } });
    const briefly: Policy = { on_disconnect: { cancel_after: 5_000 } };
    const { ref, path, worker, queue } = await write(platform, briefly, started());
    const node = parseNodeId("elsewhere");
    const say = () => publishPresence(platform.log.publish, { ref, node }, { readers: 1, seq: asSeq(0) });
    await say();
    await queue();
    // That this one ends proves that the reaper knows of the others.
    await ended(platform, (await create(platform, queueTimeout(1))).ref);
    await say();
    await platform.server.kill("SIGSTOP");
    await expect.poll(() => platform.node.logged).toContain("the reaper waits for the broker");
    await platform.server.kill("SIGCONT");
    // By now the reaper has inspected it, and the only presence record has long run out.
    await ended(platform, overdue);
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    await ended(platform, unread);
    expect(await endsOf(platform, ref)).toEqual([]);
    await append(worker, completed());
    expect(await reader.ended).toBe("clean");
  });
});

function requestedOf(ref: GenerationRef, policy: Policy): EventDraft {
  return {
    type: "generation.requested",
    ...ref,
    created_at: new Date().toISOString(),
    request: { ...REQUEST, policy },
    policy: tightenPolicy({}, policy),
  };
}
