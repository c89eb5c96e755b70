import { JOBS_STREAM, logSubject } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent, GenerateOptions, Progress, ToolCallEvent } from "../../engines/engine.ts";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { answered, attemptsIn, called, CANCELLED, delta, started } from "../../testing/drafts.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
import { openWorld, textOf, transcriptOf, typesOf, type World } from "../../testing/world.ts";

const text = (piece: string): EngineEvent => ({ type: "text", text: piece });
const FINISH: EngineEvent = { type: "finish", reason: "stop" };
const ASKED: EngineEvent = { type: "finish", reason: "tool_calls" };
const call = (callId: string): ToolCallEvent => ({
  type: "tool_call",
  callId,
  name: "look_up",
  arguments: "{}",
});

/** An engine that does one thing for each time it is asked, and what it was told then. */
function engineOf(...turns: ((options: GenerateOptions) => AsyncIterable<EngineEvent>)[]) {
  const told: Progress[] = [];
  const engine = createFakeEngine((_request, options) => {
    told.push({ turns: options.turns, prefix: options.prefix });
    return turns[told.length - 1]!(options);
  });
  return { engine, told };
}

async function* says(...events: EngineEvent[]): AsyncGenerator<EngineEvent> {
  yield* events;
}

const hasCalls = (count: number) => (events: { type: string }[]) =>
  events.filter(({ type }) => type === "tool.call").length === count;

const untilAsked = (world: World, ref: Parameters<World["until"]>[0], calls = 1) =>
  world.until(ref, hasCalls(calls));

test("the first call of a turn whose engine gave no finish reason says so", async () => {
  await using world = await openWorld();
  const { engine } = engineOf(() => says(call("a"), call("b"), { ...ASKED, isReasonMissing: true }));
  await world.startWorker(engine);
  const events = await untilAsked(world, await world.submit(), 2);
  expect(events.filter(({ type }) => type === "tool.call")).toMatchObject([
    { call_id: "a", finish_reason_missing: true },
    { call_id: "b" },
  ]);
});

test("a tool's answer, from any process, is the engine's next turn, and the text continues", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(
    () => says(text("Let me see. "), call("a"), ASKED),
    () => says(text("It is 42."), FINISH),
  );
  await world.startWorker(engine);
  const ref = await world.submit();
  await untilAsked(world, ref);
  await world.append(ref, answered("a"));
  const events = await world.untilEnded(ref);
  expect(events.slice(2)).toMatchObject([
    { type: "output.delta", text: "Let me see. " },
    { type: "tool.call", call_id: "a", name: "look_up", arguments: "{}" },
    { type: "tool.result", call_id: "a", output: 42 },
    { type: "output.delta", text: "It is 42." },
    { type: "generation.completed", finish_reason: "stop", usage: { output_tokens: 2 } },
  ]);
  expect(told[1]).toEqual({
    turns: [
      { type: "text", text: "Let me see. ", tokens: 1 },
      { type: "tool_call", call_id: "a", name: "look_up", arguments: "{}" },
      { type: "tool_result", call_id: "a", output: 42 },
    ],
    prefix: { text: "", tokens: 0 },
  });
  // The whole of it is one attempt.
  expect(attemptsIn(events)).toEqual([[1, undefined]]);
});

const STATE = { google: { thought_signature: "c2VhbGVk" } };
const THINKS: EngineEvent[] = [
  { type: "reasoning", text: "I need to look." },
  { ...call("a"), providerState: STATE },
  ASKED,
];
const THOUGHT = [
  { type: "reasoning", text: "I need to look." },
  { type: "tool_call", call_id: "a", name: "look_up", arguments: "{}", provider_state: STATE },
  { type: "tool_result", call_id: "a", output: 42 },
];

test("what the model has thought before a call, and the server asks to get back with it, is in the engine's next turn", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(
    () => says(...THINKS),
    () => says(text("It is 42."), FINISH),
  );
  await world.startWorker(engine);
  const ref = await world.submit();
  await untilAsked(world, ref);
  await world.append(ref, answered("a"));
  const events = await world.untilEnded(ref);
  expect(events.find(({ type }) => type === "tool.call")).toMatchObject({ provider_state: STATE });
  expect(told[1]?.turns).toEqual(THOUGHT);
});

test("a generation that is to end with its calls ends with them, and asks no further turn", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(() => says(text("Hm. "), call("a"), call("b"), ASKED));
  await world.startWorker(engine);
  const events = await world.untilEnded(await world.submit({ request: { tool_calls: "end" } }));
  expect(events.slice(2)).toMatchObject([
    { type: "output.delta", text: "Hm. " },
    { type: "tool.call", call_id: "a" },
    { type: "tool.call", call_id: "b" },
    { type: "generation.completed", finish_reason: "tool_calls" },
  ]);
  expect(transcriptOf(events)).toMatchObject({
    status: "completed",
    pendingCalls: [{ call_id: "a" }, { call_id: "b" }],
  });
  expect(told).toHaveLength(1);
});

test("one whose worker died after its calls ends with them at the next", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf();
  const ref = await world.submit({
    request: { tool_calls: "end" },
    history: [started(1), delta("Hm. "), called("a")],
  });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", finish_reason: "tool_calls" });
  expect(told).toEqual([]);
});

test("calls of one turn may be answered in any order, and the engine waits for the last", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(
    () => says(call("a"), call("b"), call("c"), ASKED),
    () => says(text("done"), FINISH),
  );
  await world.startWorker(engine);
  const ref = await world.submit();
  await untilAsked(world, ref, 3);
  for (const id of ["c", "a"]) await world.append(ref, answered(id));
  expect(told).toHaveLength(1);
  await world.append(ref, answered("b"));
  await world.untilEnded(ref);
  const results = told[1]!.turns.flatMap((item) => (item.type === "tool_result" ? [item.call_id] : []));
  expect(results).toEqual(["c", "a", "b"]);
});

test("a generation that waits for a tool takes no slot, and gets one when it continues", async () => {
  await using world = await openWorld();
  const other = Promise.withResolvers<void>();
  let atOnce = 0;
  const { engine } = engineOf(
    () => says(call("a"), ASKED),
    async function* () {
      atOnce++;
      await other.promise;
      atOnce--;
      yield text("other");
      yield FINISH;
    },
    () => says(text(`beside ${atOnce}`), FINISH),
  );
  await world.startWorker(engine, { slots: 1 });
  const waiting = await world.submit();
  await untilAsked(world, waiting);
  const running = await world.submit();
  await world.until(running, (events) => events.length === 2);
  await world.append(waiting, answered("a"));
  other.resolve();
  expect(textOf(await world.untilEnded(running))).toBe("other");
  expect(textOf(await world.untilEnded(waiting))).toBe("beside 0");
  await expect.poll(() => world.queuedJobs()).toBe(0);
  // Neither waited at the broker for the other's slot.
  expect(await world.jobDeliveries()).toBe(2);
});

test("a generation that waits longer than the ack wait stays with its worker", async () => {
  await using world = await openWorld();
  const ackWaitMs = 300;
  await world.startWorker(createSimEngine(), { ackWaitMs });
  await world.startWorker(createSimEngine(), { ackWaitMs });
  const ref = await world.submit({ options: { tokens: 4, tool_call_after_tokens: 2 } });
  await untilAsked(world, ref);
  let signsOfLife = 0;
  const callback = (_: unknown, msg: { string(): string }) => void (msg.string() === "+WPI" && signsOfLife++);
  world.broker.reads.subscribe(`$JS.ACK.${JOBS_STREAM}.>`, { callback });
  // Three for each ack wait.
  await expect.poll(() => signsOfLife).toBeGreaterThan(9);
  await world.append(ref, answered("sim_call_2_0"));
  expect(attemptsIn(await world.untilEnded(ref))).toEqual([[1, undefined]]);
});

test("a takeover while tools are called calls none again, and continues with their answers", async () => {
  await using world = await openWorld();
  const options = { tokens: 40, tokens_per_second: 0, seed: 3 };
  const undisturbed = await world.submit({ options });
  const first = await world.startWorker(createSimEngine());
  const expected = textOf(await world.untilEnded(undisturbed));

  const ref = await world.submit({ options: { ...options, tool_call_after_tokens: 20, tool_calls: 2 } });
  await untilAsked(world, ref, 2);
  await world.append(ref, answered("sim_call_20_1"));
  await world.startWorker(createSimEngine());
  await first.close();
  await world.until(ref, (events) => attemptsIn(events).length === 2);
  await world.append(ref, answered("sim_call_20_0"));
  const events = await world.untilEnded(ref);
  expect(events.filter(({ type }) => type === "tool.call")).toHaveLength(2);
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "handover"],
  ]);
  expect(textOf(events)).toBe(expected);
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 40 } });
});

test("an answer that came while no worker had the job is found by the next worker", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(() => says(text("It is 42."), FINISH));
  const ref = await world.submit({ history: [started(1), delta("See. "), called("a"), answered("a")] });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe("See. It is 42.");
  // An engine that can't continue a text gets no prefix.
  expect(typesOf(events)).not.toContain("output.rewind");
  expect(told[0]).toMatchObject({ turns: [{ text: "See. " }, { call_id: "a" }, { output: 42 }] });
});

test("an answer that is there before the worker waits for it is not missed", async () => {
  await using world = await openWorld();
  const { engine } = engineOf(
    () => says(call("a"), ASKED),
    () => says(text("done"), FINISH),
  );
  const { publish } = world.log;
  // The answer is stored before the worker hears that its call is.
  const answering: typeof publish = async (subject, payload, options) => {
    const outcome = await publish(subject, payload, options);
    if (Buffer.from(payload).includes('"tool.call"') && subject === logSubject(ref)) {
      await world.append(ref, answered("a"));
    }
    return outcome;
  };
  const ref = await world.submit();
  expect(await world.run(ref, engine, { log: { ...world.log, publish: answering } })).toBe("completed");
  expect(typesOf(await world.read(ref)).slice(2)).toEqual([
    "tool.call",
    "tool.result",
    "output.delta",
    "generation.completed",
  ]);
});

test("a cancel ends a generation that waits for a tool, and its job", async () => {
  await using world = await openWorld();
  const { engine, told } = engineOf(() => says(call("a"), ASKED));
  await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await untilAsked(world, ref);
  await world.append(ref, CANCELLED);
  await expect.poll(() => world.queuedJobs()).toBe(0);
  expect(typesOf(await world.read(ref)).slice(2)).toEqual(["tool.call", "generation.cancelled"]);
  expect(told).toHaveLength(1);
});

test.each([
  ["fail", { type: "generation.failed", error: { code: "tool_result_timeout" } }],
  ["complete", { type: "generation.completed", finish_reason: "timeout" }],
] as const)("a tool that does not answer in time ends the generation: %s", async (answer, end) => {
  await using world = await openWorld();
  const { engine } = engineOf(() => says(text("next"), FINISH));
  const timeouts = { tool_result: { after_ms: 150, answer } };
  const history = [started(1), delta("Let me see. "), called("a"), called("b"), answered("a")];
  const ref = await world.submit({ policy: { timeouts }, history });
  await world.startWorker(engine, { slots: 1 });
  const events = await world.untilEnded(ref);
  expect(events.at(-1)).toMatchObject({ ...end, usage: { output_tokens: 1 } });
  // Its slot is whole: the next one runs.
  expect(textOf(await world.untilEnded(await world.submit()))).toBe("next");
});
