import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@reprise/client";
import type { KnownEvent } from "@reprise/protocol";
import { startTcpProxy } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";

const REQUEST = { model: "sim", input: "Tell me a story." };
/** Takes 4 s: long enough for what happens in its middle. */
const OPTIONS = { tokens: 400, tokens_per_second: 100, seed: 11 };
/** The same text, at once. */
const UNDISTURBED = { tokens_per_second: 0 };
const hasDeltas = (count: number) => (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => type === "output.delta").length >= count;
const hasEnded = (events: readonly KnownEvent[]) =>
  events.some(({ type }) => /completed|failed|cancelled/.test(type));
const hasCalls = (count: number) => (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => type === "tool.call").length >= count;
/** Each attempt as its number and why it began. */
const attemptsIn = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "generation.started" ? [[event.attempt, event.reason]] : []));
const LOST = [
  [1, undefined],
  [2, "worker_lost"],
];
const HANDED_OVER = [
  [1, undefined],
  [2, "handover"],
];
/** For tests in which a living worker that is late, on a busy machine, must not count as a lost one. */
const PATIENT_MS = 2_000;
const NEVER_MS = 600_000;
/** Under this policy a lost worker is the end of its generation. */
const STRICT = { max_attempts: 1, on_worker_loss: "fail" } as const;
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
  expect(attemptsIn(events)).toEqual(LOST);
  expect(endsIn(events)).toEqual(["generation.completed"]);

  const undisturbed = client.generations.run({ ...REQUEST, options: { ...OPTIONS, ...UNDISTURBED } });
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
  const { text } = await client.generations
    .run({ ...REQUEST, options: { ...options, ...UNDISTURBED } })
    .done();
  expect((await read).text).toBe(text);
  expect(textOf(events)).toBe(text);
});

const ABSENCES: [
  name: string,
  leave: (victim: Victim) => void | Promise<void>,
  comeBack: (victim: Victim) => void,
][] = [
  ["sleeps", (victim) => victim.pause(), (victim) => victim.resume()],
  [
    "is cut off by a network that holds everything up",
    ({ proxy }) => proxy.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } }),
    ({ proxy }) => proxy.setFaults({}),
  ],
];

test.each(ABSENCES)(
  "a worker that %s past its ack wait is fenced when it is back, and does not come back for the job",
  async (_name, leave, comeBack) => {
    await using cluster = await startCluster({ ackWaitMs: PATIENT_MS });
    // It must not use up the last attempt, nor say that all are used up, while the other one works.
    const request = { policy: { max_attempts: 2 } };
    const { client, victim, id, untilEnded } = await midway(cluster, { workers: 1, request });
    await leave(victim);
    await startWorker(cluster);
    await cluster.untilLog("acme", id, (events) => attemptsIn(events).length === 2);
    comeBack(victim);
    const events = await untilEnded();
    // Told to stop, it finishes all that it has in hand.
    await victim.stop();
    expect(await untilEnded()).toEqual(events);
    expect(attemptsIn(events)).toEqual(LOST);
    expect(endsIn(events)).toEqual(["generation.completed"]);
    const { text } = await client.generations
      .run({ ...REQUEST, options: { ...OPTIONS, ...UNDISTURBED } })
      .done();
    expect(textOf(events)).toBe(text);
  },
);

test("a worker that is told to stop hands over at once, long before its ack wait", async () => {
  await using cluster = await startCluster({ ackWaitMs: NEVER_MS });
  const { client, victim, untilEnded } = await midway(cluster, { request: { policy: STRICT } });
  const exit = await victim.stop();
  expect(exit).toMatchObject({ code: 0, signal: null });
  const events = await untilEnded();
  expect(attemptsIn(events)).toEqual(HANDED_OVER);
  expect(endsIn(events)).toEqual(["generation.completed"]);
  const { text } = await client.generations
    .run({ ...REQUEST, options: { ...OPTIONS, ...UNDISTURBED } })
    .done();
  expect(textOf(events)).toBe(text);
});

test("the death of one worker of two costs each of its generations one attempt, and none of the other's", async () => {
  await using cluster = await startCluster({ ackWaitMs: PATIENT_MS });
  const [{ url }, ...workers] = await Promise.all([
    cluster.startDelivery(),
    startWorker(cluster),
    startWorker(cluster),
  ]);
  const client = createClient({ url, apiKey: cluster.keys["acme"]! });
  const created = await Promise.all(
    Array.from({ length: 12 }, () =>
      client.generations.create({ ...REQUEST, options: { ...OPTIONS, tokens: 450 } }),
    ),
  );
  const firstWorkers = await Promise.all(
    created.map(async ({ id }) => {
      const [, first] = await cluster.untilLog("acme", id, hasDeltas(5));
      return (first as { worker?: string }).worker;
    }),
  );
  workers[0].kill("SIGKILL");
  const texts = new Set<string>();
  for (const [i, { id }] of created.entries()) {
    const events = await cluster.untilLog("acme", id, hasEnded);
    expect(attemptsIn(events)).toEqual(firstWorkers[i] === workers[0].id ? LOST : LOST.slice(0, 1));
    expect(endsIn(events)).toEqual(["generation.completed"]);
    expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 450 } });
    texts.add(textOf(events));
  }
  expect(texts.size).toBe(1);
});

test("a broker that stands still for longer than the ack wait takes no generation from its living worker", async () => {
  await using cluster = await startCluster();
  const { untilEnded } = await midway(cluster, { request: { policy: STRICT } });
  await cluster.server.kill("SIGSTOP");
  await pause(3_000);
  await cluster.server.kill("SIGCONT");
  const events = await untilEnded();
  expect(attemptsIn(events)).toEqual(LOST.slice(0, 1));
  expect(endsIn(events)).toEqual(["generation.completed"]);
});

/** A generation that waits for two tools, with a worker process. */
async function awaitingTools(cluster: Cluster, request: object = {}) {
  const [{ url }, first, second] = await Promise.all([
    cluster.startDelivery(),
    startWorker(cluster),
    startWorker(cluster),
  ]);
  const client = createClient({ url, apiKey: cluster.keys["acme"]! });
  const options = { ...OPTIONS, tool_call_after_tokens: 20, tool_calls: 2 };
  const { id } = await client.generations.create({ ...REQUEST, options, ...request });
  const events = await cluster.untilLog("acme", id, hasCalls(2));
  const { worker } = events[1] as { worker?: string };
  const answer = (call: number) =>
    client.generations.submitToolResult(id, { callId: `sim_call_20_${call}`, output: { call } });
  return { client, id, answer, victim: first.id === worker ? first : second };
}

const LEAVINGS: [
  name: string,
  attempts: typeof LOST,
  policy: object,
  ackWaitMs: number,
  leave: (victim: Victim) => Promise<unknown>,
][] = [
  [
    "is killed",
    LOST,
    {},
    1_000,
    async (victim) => {
      victim.kill("SIGKILL");
      await victim.exited;
    },
  ],
  ["is told to stop", HANDED_OVER, STRICT, NEVER_MS, (victim) => victim.stop()],
];

test.each(LEAVINGS)(
  "when a worker that waits for tools %s, another one waits on: no tool is called twice, and the text goes on",
  async (_name, attempts, policy, ackWaitMs, leave) => {
    await using cluster = await startCluster({ ackWaitMs });
    const { client, id, answer, victim } = await awaitingTools(cluster, { policy });
    const read = client.generations.stream(id).done();
    await leave(victim);
    // One answer comes while no worker may have the generation, the other one when one has.
    await answer(1);
    await cluster.untilLog("acme", id, (events) => attemptsIn(events).length === 2);
    await expect.poll(async () => (await client.generations.get(id)).status).toBe("awaiting_tool");
    await answer(0);
    const events = await cluster.untilLog("acme", id, hasEnded);
    expect(attemptsIn(events)).toEqual(attempts);
    expect(endsIn(events)).toEqual(["generation.completed"]);
    expect(events.filter(({ type }) => type === "tool.call")).toHaveLength(2);
    const { text } = await client.generations
      .run({ ...REQUEST, options: { ...OPTIONS, ...UNDISTURBED } })
      .done();
    expect(textOf(events)).toBe(text);
    expect((await read).text).toBe(text);
  },
);

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
