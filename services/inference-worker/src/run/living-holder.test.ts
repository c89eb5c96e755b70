import { setTimeout as pause } from "node:timers/promises";
import { answerHolderQueries } from "@reprise/jobs";
import { connectBroker } from "@reprise/broker";
import { parseWorkerId, workerSubject } from "@reprise/protocol";
import { startTcpProxy } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { attemptEnded, attemptsIn, delta, started } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted, createPausedSimulator, hasTokens } from "../testing/fake-engines.ts";
import { openWorld, textOf, typesOf, type World } from "../testing/world.ts";

/*
 * A job that comes to a second worker: whether the first one is at it. The strictest policy shows whether an attempt was used up.
 */

const POLICY = { max_attempts: 1, on_worker_loss: "fail" } as const;
const OTHER = parseWorkerId("worker-other");
/** The worker id that `world.run` uses. */
const SELF = parseWorkerId("worker-test");
const BEGUN = [{ ...started(1), worker: OTHER }, delta("mine ")];

/** An engine that says its second word when it is told to. */
function slowEngine() {
  const go = Promise.withResolvers<void>();
  let asked = 0;
  const engine = createFakeEngine(async function* (_request, { signal }) {
    asked++;
    yield { type: "text", text: "mine " };
    await Promise.race([go.promise, untilAborted(signal)]);
    yield { type: "text", text: "still" };
    yield { type: "finish", reason: "stop" };
  });
  return { engine, go, asked: () => asked };
}

test("a worker whose heartbeats do not reach the broker keeps its generation as long as it answers", async () => {
  await using world = await openWorld();
  const { engine, go, asked } = slowEngine();
  const ref = await world.submit({ policy: POLICY });
  // With one slot it asks for no other job: the second worker gets this one each time.
  await world.startWorker(engine, { slots: 1 });
  await world.until(ref, (events) => events.length === 3);
  // The first worker beats for an ack wait of a minute; from now on the broker expects it three times a second.
  await world.startWorker(engine, { ackWaitMs: 300 });
  await expect.poll(() => world.jobDeliveries()).toBeGreaterThan(3);
  go.resolve();
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe("mine still");
  expect(attemptsIn(events)).toEqual([[1, undefined]]);
  expect(asked()).toBe(1);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("a broker that is frozen for longer than the ack wait costs no generation an attempt", async () => {
  await using world = await openWorld();
  const ackWaitMs = 500;
  const options = { tokens: 200, tokens_per_second: 100, seed: 8 };
  const refs = [];
  const engine = createPausedSimulator();
  engine.sayUpTo(20);
  await world.startWorker(engine, { ackWaitMs });
  for (let i = 0; i < 5; i++) refs.push(await world.submit({ policy: POLICY, options }));
  for (const ref of refs) await world.until(ref, hasTokens(20));
  await world.startWorker(createSimEngine(), { ackWaitMs });
  await world.server.kill("SIGSTOP");
  engine.sayUpTo(options.tokens);
  await pause(4 * ackWaitMs);
  await world.server.kill("SIGCONT");
  const texts = new Set<string>();
  for (const ref of refs) {
    const events = await world.untilEnded(ref);
    expect(attemptsIn(events)).toEqual([[1, undefined]]);
    expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 200 } });
    texts.add(textOf(events));
  }
  expect(texts.size).toBe(1);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

const runByHand = async (world: World, history: Parameters<World["submit"]>[0], deliveries: number) => {
  const ref = await world.submit(history);
  return { ref, result: await world.run(ref, createSimEngine(), { job: { deliveries } }) };
};

test.each([1, 2])(
  "a job is left to the worker that runs it, for any count of its deliveries at the broker: %i",
  async (deliveries) => {
    await using world = await openWorld();
    const stop = answerHolderQueries(world.broker.main, OTHER, () => true);
    const { ref, result } = await runByHand(world, { policy: POLICY, history: BEGUN }, deliveries);
    stop();
    expect(result).toBe("held");
    expect(await world.read(ref)).toHaveLength(3);
  },
);

test.each([
  ["the worker itself", [{ ...started(1), worker: SELF }, delta("mine ")]],
  ["a worker that is dead, for the store has lost the later attempt", BEGUN],
  ["no worker, for the store has lost the whole attempt", []],
])(
  "a job that comes again to the worker that runs it is left to that run; last in its log: %s",
  async (_, history) => {
    await using world = await openWorld();
    const ref = await world.submit({ policy: POLICY, history });
    expect(await world.run(ref, createSimEngine(), { holding: [ref.generation] })).toBe("held");
    expect(await world.read(ref)).toHaveLength(1 + history.length);
  },
);

test("a worker whose connection is away asks when it is back, before it takes a generation over", async () => {
  await using world = await openWorld();
  await using way = await startTcpProxy({ target: { port: world.server.port } });
  await using away = await connectBroker({ url: `nats://127.0.0.1:${way.port}`, name: "away" });
  const { engine, go, asked } = slowEngine();
  const ref = await world.submit({ policy: POLICY });
  // With one slot it asks for no other job: the second worker gets this one each time.
  await world.startWorker(engine, { slots: 1 });
  await world.until(ref, (events) => events.length === 3);
  await world.startWorker(engine, { ackWaitMs: 300, main: away.main });
  way.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } });
  way.cutNow();
  // Jobs still arrive over another connection; a question takes half a second at most.
  const before = await world.jobDeliveries();
  await expect.poll(() => world.jobDeliveries()).toBeGreaterThan(before + 4);
  way.setFaults({});
  await away.main.flush();
  go.resolve();
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe("mine still");
  expect(attemptsIn(events)).toEqual([[1, undefined]]);
  expect(asked()).toBe(1);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("a worker that lives but runs the generation no more is taken over", async () => {
  await using world = await openWorld();
  const stop = answerHolderQueries(world.broker.main, OTHER, () => false);
  const { ref, result } = await runByHand(world, { history: BEGUN, options: { tokens: 3 } }, 2);
  stop();
  expect(result).toBe("completed");
  expect(attemptsIn(await world.read(ref))).toEqual([
    [1, undefined],
    [2, "worker_lost"],
  ]);
});

test("a worker that does not answer is taken over", async () => {
  await using world = await openWorld();
  let questions = 0;
  world.broker.main.subscribe(workerSubject(OTHER), { callback: () => void questions++ });
  const ref = await world.submit({ history: BEGUN, options: { tokens: 3 } });
  const { main: connection } = world.broker;
  expect(await world.run(ref, createSimEngine(), { job: { deliveries: 2 }, connection })).toBe("completed");
  expect(questions).toBe(1);
});

test("a worker that has handed over is not asked", async () => {
  await using world = await openWorld();
  const stop = answerHolderQueries(world.broker.main, OTHER, () => true);
  const history = [...BEGUN, attemptEnded(1, "handover")];
  const { ref, result } = await runByHand(world, { policy: POLICY, history, options: { tokens: 3 } }, 2);
  stop();
  expect(result).toBe("completed");
  expect(typesOf(await world.read(ref))).toContain("generation.completed");
});
