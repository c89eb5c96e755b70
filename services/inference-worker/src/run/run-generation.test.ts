import type { GenerationLog } from "@reprise/stream";
import { type EventDraft, peekSeq, RepriseError, asStreamSeq } from "@reprise/protocol";
import { moderatedPolicy } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { EngineEvent } from "../engines/engine.ts";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { started } from "../testing/drafts.ts";
import { openWorld, textOf, typesOf } from "../testing/world.ts";

const text = (piece: string): EngineEvent => ({ type: "text", text: piece });
const COMPLETED: EventDraft = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 2, output_tokens: 0 },
};
const FINISH: EngineEvent = { type: "finish", reason: "stop" };

test("the first token is in the log before the engine has a second one", async () => {
  await using world = await openWorld();
  const second = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* () {
    yield text("first");
    await second.promise;
    yield text(" second");
    yield FINISH;
  });
  await world.startWorker(engine);
  const ref = await world.submit();
  const early = await world.until(ref, (events) => events.length === 3);
  expect(early.at(-1)).toEqual({ seq: 2, type: "output.delta", text: "first" });
  second.resolve();
  expect(textOf(await world.untilEnded(ref))).toBe("first second");
});

test("tokens that come while an append is in flight become few events, and the text stays exact", async () => {
  await using world = await openWorld();
  const pieces = Array.from({ length: 1_000 }, (_, i) => `${i} é🙂`);
  const engine = createFakeEngine(async function* () {
    yield* pieces.map(text);
    yield FINISH;
  });
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit());
  expect(textOf(events)).toBe(pieces.join(""));
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i));
  expect(events.length).toBeLessThan(10);
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 1_000 } });
});

test("an engine that knows the input's tokens beforehand has them in the first event of the attempt", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(
    async function* () {
      yield { type: "text", text: "three in one", tokens: 3 };
      yield FINISH;
    },
    { countInput: () => 2 },
  );
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit());
  expect(events[1]).toMatchObject({ type: "generation.started", attempt: 1, input_tokens: 2 });
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 2, output_tokens: 3 } });
});

test("a generation whose policy a later version wrote is not run: its job goes back to the queue", async () => {
  await using world = await openWorld();
  const policy = moderatedPolicy({ mode: "quarantine" as "gate" });
  const ref = await world.submit({ policy });
  let isDone = false;
  const job = { ack: async () => void (isDone = true) };
  await expect(world.run(ref, createSimEngine(), { job })).rejects.toMatchObject({
    code: "policy_unsupported",
    retryable: true,
  });
  expect([isDone, typesOf(await world.read(ref))]).toEqual([false, ["generation.requested"]]);
});

test("an engine that fails before its first token fails the generation with its own error", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield* [];
    throw new RepriseError("engine_unavailable", "The engine's address does not answer.");
  });
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit());
  expect(events.slice(2)).toEqual([
    {
      seq: 2,
      type: "generation.failed",
      error: {
        code: "engine_unavailable",
        message: "The engine's address does not answer.",
        retryable: true,
      },
      usage: { input_tokens: null, output_tokens: 0 },
    },
  ]);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("an engine that fails in mid-stream keeps what it had said, and counts it", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield text("half of");
    yield text(" a");
    throw new RepriseError("engine_failed", "The engine broke off.");
  });
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit());
  expect(textOf(events)).toBe("half of a");
  expect(events.at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: "engine_failed", message: "The engine broke off." },
    usage: { output_tokens: 2 },
  });
});

test("a defect in an engine fails the generation without telling what it said", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(() => {
    throw new TypeError("a secret of the prompt");
  });
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit());
  expect(events.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "internal" } });
  expect(JSON.stringify(events)).not.toContain("secret");
});

test("options that the engine refuses fail the generation, and name the field", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine());
  const events = await world.untilEnded(await world.submit({ options: { tokens: "many" } }));
  expect(events.at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: "invalid_request", retryable: false, message: expect.stringContaining("options.tokens") },
  });
});

test("a generation whose creator died before its first event gets it from the job", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield text("here");
    yield FINISH;
  });
  const ref = await world.submit({ requested: false });
  expect(await world.read(ref)).toEqual([]);
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(events[0]).toMatchObject({ seq: 0, type: "generation.requested", ...ref });
  expect(textOf(events)).toBe("here");
});

test("a generation that is silent for longer than the ack wait stays with its worker", async () => {
  await using world = await openWorld();
  const ackWaitMs = 400;
  const answers = new Set<string>();
  world.broker.main.subscribe("$JS.ACK.>", { callback: (_error, msg) => void answers.add(msg.string()) });
  await world.startWorker(createSimEngine(), { ackWaitMs });
  await world.startWorker(createSimEngine(), { ackWaitMs });
  const ref = await world.submit({ options: { first_token_ms: 3 * ackWaitMs, tokens: 1 } });
  expect(typesOf(await world.untilEnded(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
  // Without its heartbeats the other worker would be given the job, and would leave it to this one.
  await expect.poll(() => [...answers]).toContain("+WPI");
});

test("all that readers are told live comes from the broker's store: a worker says nothing to them itself", async () => {
  await using world = await openWorld();
  const told: [seq: number, streamSeq: number][] = [];
  world.broker.main.subscribe("live.>", {
    callback(_error, msg) {
      told.push([peekSeq(msg.data), Number(msg.headers?.get("Nats-Sequence"))]);
    },
  });
  await world.startWorker(createSimEngine());
  const ref = await world.submit({ options: { tokens: 30, tokens_per_second: 1_000 } });
  await world.untilEnded(ref);
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  // The broker tells of what it has stored a moment later.
  await expect.poll(() => told.length).toBe(stored.length);
  await world.broker.main.flush();
  expect(told).toEqual(stored.map(({ payload, streamSeq }) => [peekSeq(payload), streamSeq]));
});

test.each([
  ["that this worker has brought to its end", []],
  ["whose last worker died after its end", [started(1), COMPLETED]],
])("the job of a generation %s is done only when the final checkpoint is stored", async (_, history) => {
  await using world = await openWorld();
  const ref = await world.submit({ history });
  const order: string[] = [];
  const stored = Promise.withResolvers<void>();
  const log: GenerationLog = {
    ...world.log,
    async publishCheckpoint(...call) {
      order.push("checkpoint begun");
      // Long enough for an acknowledgement that does not wait to overtake it.
      await world.queuedJobs();
      const outcome = await world.log.publishCheckpoint(...call);
      order.push("checkpoint stored");
      stored.resolve();
      return outcome;
    },
  };
  const engine = createFakeEngine(async function* () {
    yield text("all");
    yield FINISH;
  });
  const job = { ack: async () => void order.push("job done") };
  await world.run(ref, engine, { log, job });
  await stored.promise;
  expect(order).toEqual(["checkpoint begun", "checkpoint stored", "job done"]);
});
