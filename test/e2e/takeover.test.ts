import { createClient } from "@reprise/client";
import type { KnownEvent } from "@reprise/protocol";
import { startTcpProxy } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";

vi.setConfig({ testTimeout: 60_000 });

const REQUEST = { model: "sim", input: "Tell me a story." };
const OPTIONS = { tokens: 150, tokens_per_second: 100, seed: 11 };
const hasDeltas = (count: number) => (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => type === "output.delta").length >= count;
const hasEnded = (events: readonly KnownEvent[]) =>
  events.some(({ type }) => /completed|failed|cancelled/.test(type));
const attemptsIn = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "generation.started" ? [event.attempt] : []));
const endsIn = (events: readonly KnownEvent[]) =>
  events.flatMap(({ type }) => (/completed|failed|cancelled/.test(type) ? [type] : []));

/** A worker with a network of its own. */
async function startWorker(cluster: Cluster) {
  const proxy = cluster.use(await startTcpProxy({ target: { port: cluster.server.port } }));
  const worker = await cluster.startWorker({ REPRISE_NATS_URL: `nats://${proxy.host}:${proxy.port}` });
  return { ...worker, proxy };
}

/** A generation that one worker process, the victim, is in the middle of. */
async function midway(
  cluster: Cluster,
  { workers = 2, request = {} }: { workers?: number; request?: object } = {},
) {
  const [{ url }, ...started] = await Promise.all([
    cluster.startDelivery(),
    ...Array.from({ length: workers }, () => startWorker(cluster)),
  ]);
  const client = createClient({ url, apiKey: cluster.keys["acme"]! });
  const { id } = await client.generations.create({ ...REQUEST, options: OPTIONS, ...request });
  const [, first] = await cluster.untilLog("acme", id, hasDeltas(10));
  const victim = started.find((worker) => worker.id === (first as { worker?: string }).worker)!;
  const untilEnded = () => cluster.untilLog("acme", id, hasEnded);
  return { client, victim, id, untilEnded };
}

type Victim = Awaited<ReturnType<typeof startWorker>>;

test("when a worker is killed, another one goes on, and the text is that of an undisturbed run", async () => {
  await using cluster = await startCluster();
  const { client, victim, id, untilEnded } = await midway(cluster);
  const reader = client.generations.stream(id);
  const read = reader.done();
  victim.kill("SIGKILL");
  const events = await untilEnded();
  expect(attemptsIn(events)).toEqual([1, 2]);
  expect(endsIn(events)).toEqual(["generation.completed"]);

  const undisturbed = client.generations.run({ ...REQUEST, options: OPTIONS });
  const { text } = await undisturbed.done();
  expect(textOf(events)).toBe(text);
  expect((await read).text).toBe(text);
  expect((await read).usage).toEqual(undisturbed.usage);
});

test("when a killed worker's engine can't go on, readers see the text withdrawn and then all of it", async () => {
  await using cluster = await startCluster();
  const options = { ...OPTIONS, continuable: false };
  const { client, victim, id, untilEnded } = await midway(cluster, { request: { options } });
  const read = client.generations.stream(id).done();
  victim.kill("SIGKILL");
  const events = await untilEnded();
  expect(events.filter(({ type }) => type === "output.rewind")).toHaveLength(1);
  const { text } = await client.generations.run({ ...REQUEST, options }).done();
  expect((await read).text).toBe(text);
  expect(textOf(events)).toBe(text);
});

const ABSENCES: [name: string, leave: (victim: Victim) => void, comeBack: (victim: Victim) => void][] = [
  ["sleeps", (victim) => victim.kill("SIGSTOP"), (victim) => victim.kill("SIGCONT")],
  [
    "is cut off by a network that holds everything up",
    ({ proxy }) => proxy.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } }),
    ({ proxy }) => proxy.setFaults({}),
  ],
];

test.each(ABSENCES)(
  "a worker that %s past its ack wait is fenced when it is back, and does not come back for the job",
  async (_name, leave, comeBack) => {
    await using cluster = await startCluster();
    // It must not use up the last attempt, nor say that all are used up, while the other one works.
    const request = { policy: { max_attempts: 2 } };
    const { client, victim, id, untilEnded } = await midway(cluster, { workers: 1, request });
    leave(victim);
    // The absent one has asked for more jobs, and is given its own again: it finds that one when it is back.
    await expect.poll(() => cluster.jobDeliveries("sim"), { timeout: 10_000 }).toBeGreaterThan(1);
    await startWorker(cluster);
    await cluster.untilLog("acme", id, (events) => attemptsIn(events).length === 2);
    comeBack(victim);
    const events = await untilEnded();
    // Told to stop, it finishes all that it has in hand.
    await victim.stop();
    expect(await untilEnded()).toEqual(events);
    expect(attemptsIn(events)).toEqual([1, 2]);
    expect(endsIn(events)).toEqual(["generation.completed"]);
    const { text } = await client.generations.run({ ...REQUEST, options: OPTIONS }).done();
    expect(textOf(events)).toBe(text);
  },
);

test("a worker that is told to stop hands over at once, long before its ack wait", async () => {
  await using cluster = await startCluster({ ackWaitMs: 600_000 });
  const { victim, untilEnded } = await midway(cluster);
  const exit = await victim.stop();
  expect(exit).toMatchObject({ code: 0, signal: null });
  const events = await untilEnded();
  expect(attemptsIn(events)).toEqual([1, 2]);
  expect(endsIn(events)).toEqual(["generation.completed"]);
});

test("a generation whose last permitted worker is killed fails, once", async () => {
  await using cluster = await startCluster();
  const { client, victim, id, untilEnded } = await midway(cluster, {
    request: { policy: { max_attempts: 1 } },
  });
  const reader = client.generations.stream(id);
  const read = reader.done();
  victim.kill("SIGKILL");
  const events = await untilEnded();
  expect(events.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "worker_lost" } });
  expect(endsIn(events)).toEqual(["generation.failed"]);
  const outcome = await read;
  expect(outcome).toMatchObject({ status: "failed", error: { code: "worker_lost" } });
  expect(outcome.text).toBe(textOf(events));
  expect(outcome.text.length).toBeGreaterThan(0);
});
