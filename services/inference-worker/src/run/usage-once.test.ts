import { type EventDraft, RepriseError, type Usage, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent, GenerateOptions } from "../engines/engine.ts";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { answered, attemptEnded, called, delta, started } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted } from "../testing/fake-engines.ts";
import { openWorld, transcriptOf, typesOf } from "../testing/world.ts";

/* Output is counted once, shown or withdrawn; an engine's own count wins if there is one. */

type Turn = (options: GenerateOptions) => AsyncIterable<EngineEvent>;

function engineOf(turns: readonly Turn[], canContinue = true) {
  let asked = 0;
  return createFakeEngine((_request, options) => turns[asked++]!(options), {
    canContinue: () => canContinue,
    servers: 3,
  });
}

async function* says(...events: EngineEvent[]): AsyncGenerator<EngineEvent> {
  yield* events;
}

async function* silent({ signal }: GenerateOptions): AsyncGenerator<EngineEvent> {
  yield* [];
  await untilAborted(signal);
}

async function* broken(): AsyncGenerator<EngineEvent> {
  yield* [];
  throw new RepriseError("engine_unavailable", "The engine does not answer.");
}

const words = (count: number): EngineEvent => ({ type: "text", text: "words ", tokens: count });
const call: EngineEvent = { type: "tool_call", callId: "a", name: "look_up", arguments: "{}" };
const finish = (input: number, output: number): EngineEvent => ({
  type: "finish",
  reason: "stop",
  usage: { input_tokens: input, output_tokens: output },
});
const asks = (input: number, output: number): EngineEvent => ({
  type: "finish",
  reason: "tool_calls",
  usage: { input_tokens: input, output_tokens: output },
});

interface Course {
  turns: readonly Turn[];
  history?: readonly EventDraft[];
  canContinue?: boolean;
  usage: Usage;
}

const COURSES: Record<string, Course> = {
  // The first worker said that the input has 2 tokens, and 5 of output are in the log.
  "a takeover that goes on": {
    history: [started(1), delta("Once ", 5)],
    turns: [() => says(words(3), finish(7, 4))],
    usage: { input_tokens: 2, output_tokens: 9 },
  },
  "a takeover that starts again": {
    history: [started(1), delta("Once ", 5)],
    turns: [() => says(words(3), finish(2, 4))],
    canContinue: false,
    usage: { input_tokens: 2, output_tokens: 9 },
  },
  "a third attempt, after a handover and a rewind": {
    history: [
      started(1),
      delta("Once ", 5),
      started(2, "worker_lost"),
      { type: "output.rewind", to_seq: asSeq(0), reason: "worker_lost" },
      delta("Anew ", 2),
      attemptEnded(2, "handover"),
    ],
    turns: [() => says(words(3), finish(2, 3))],
    usage: { input_tokens: 2, output_tokens: 10 },
  },
  "a retry": {
    turns: [silent, () => says(words(3), finish(7, 4))],
    usage: { input_tokens: 7, output_tokens: 4 },
  },
  // A call is made of tokens that are in no chunk: 6 of the first turn's 9.
  "a turn with a tool": {
    turns: [() => says(words(3), call, asks(7, 9)), () => says(words(2), finish(20, 2))],
    usage: { input_tokens: 7, output_tokens: 11 },
  },
  "a retry after a turn with a tool": {
    turns: [() => says(words(3), call, asks(7, 9)), silent, () => says(words(2), finish(20, 2))],
    usage: { input_tokens: 7, output_tokens: 11 },
  },
  "a takeover after a tool's answer": {
    history: [started(1), delta("See. ", 5), called("a"), answered("a"), delta("It ", 1)],
    turns: [() => says(words(3), finish(20, 3))],
    canContinue: false,
    usage: { input_tokens: 2, output_tokens: 9 },
  },
};

test.each(Object.entries(COURSES))("%s counts everything once", async (_name, course) => {
  await using world = await openWorld();
  const { turns, history = [], canContinue, usage } = course;
  const first_token = { after_ms: 150, answer: "retry" } as const;
  const policy = { timeouts: { first_token } };
  const ref = await world.submit({ history, policy });
  await world.startWorker(engineOf(turns, canContinue));
  const asked = await world.until(ref, (events) => /tool\.call|completed/.test(typesOf(events).join()));
  for (const { call_id } of transcriptOf(asked).pendingCalls) await world.append(ref, answered(call_id));
  const events = await world.untilEnded(ref);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage });
});

test("a fallback's work is counted, and its failed predecessor's is none", async () => {
  await using world = await openWorld();
  const ref = await world.submit();
  const fallback = { model: "small", engine: engineOf([() => says(words(3), finish(7, 4))]) };
  await world.startWorker(engineOf([broken]), { fallback });
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject({
    usage: { input_tokens: 7, output_tokens: 4 },
  });
});

const INPUT = "x".repeat(400);
const estimated = (output: number) => ({
  input_tokens: 100,
  estimated_input_tokens: 100,
  output_tokens: output,
});
const stops: EngineEvent = { type: "finish", reason: "stop" };

async function* breaks(...events: EngineEvent[]): AsyncGenerator<EngineEvent> {
  yield* events;
  throw new RepriseError("engine_unavailable", "The engine has broken off.");
}

test.each([
  ["that completes", () => says(words(3), stops), "generation.completed", estimated(3)],
  ["that breaks off in mid-stream", () => breaks(words(3)), "generation.failed", estimated(3)],
  ["that never answers", broken, "generation.failed", { input_tokens: null, output_tokens: 0 }],
] as const)(
  "the input of an engine %s without a count is estimated where it was read",
  async (_how, turn, type, usage) => {
    await using world = await openWorld();
    const ref = await world.submit({ request: { input: INPUT } });
    await world.run(ref, engineOf([turn], false));
    const end = (await world.read(ref)).at(-1);
    expect(end).toMatchObject({ type });
    expect((end as { usage: Usage }).usage).toEqual(usage);
  },
);

/** A call whose turn takes 9 tokens, 3 of them text. */
async function askForTool() {
  const world = await openWorld();
  const ref = await world.submit();
  const worker = await world.startWorker(engineOf([() => says(words(3), call, asks(7, 9))]));
  const asked = await world.until(ref, (events) => typesOf(events).includes("tool.call"));
  return { world, ref, worker, asked };
}

test("another process that cancels finds in the log what a tool's call took", async () => {
  const { world, asked } = await askForTool();
  await using _ = world;
  expect(transcriptOf(asked).usage).toEqual({ input_tokens: 7, output_tokens: 9 });
});

test("a worker that takes over after a tool's call counts what that took", async () => {
  const { world, ref, worker } = await askForTool();
  await using _ = world;
  await worker.close();
  await world.startWorker(engineOf([() => says(words(2), finish(20, 2))]));
  await world.append(ref, answered("a"));
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject({
    usage: { input_tokens: 7, output_tokens: 11 },
  });
});

test("tokens that are asked for are produced once, over all attempts and tools", async () => {
  await using world = await openWorld();
  const ref = await world.submit({
    options: { tokens: 40, tokens_per_second: 0, tool_call_after_tokens: 10 },
    history: [started(1), delta("made up before ", 7)],
  });
  await world.startWorker(createSimEngine());
  await world.until(ref, (events) => events.some(({ type }) => type === "tool.call"));
  await world.append(ref, answered("sim_call_10_0"));
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject({ usage: { output_tokens: 40 } });
});
