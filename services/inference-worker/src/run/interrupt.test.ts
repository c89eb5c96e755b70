import { appendDecision, InputWriter } from "@reprise/stream";
import { asSeq, type EventDraft, type GenerationRef, type InputEntry } from "@reprise/protocol";
import { expect, test } from "vitest";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { delta, started } from "../testing/drafts.ts";
import { createFakeEngine, createSilentEngine } from "../testing/fake-engines.ts";
import { openWorld, type Submission, textOf, typesOf, type World } from "../testing/world.ts";

const interrupt = (toSeq: number, consumed?: number): EventDraft => ({
  type: "output.rewind",
  to_seq: asSeq(toSeq),
  reason: "interrupted",
  ...(consumed !== undefined && { consumed: asSeq(consumed) }),
});
const say = (text: string): InputEntry[] => [{ type: "input.delta", text }, { type: "input.commit" }];

function createWriter({ log, broker }: World, ref: GenerationRef) {
  const { publish, budgetMs } = log;
  return new InputWriter({ publish, reads: broker.reads, ref, budgetMs });
}

const STREAMED: Submission["request"] = { input: [], input_stream: { format: "text" } };

test("an interrupt lets go of the engine, and the generation ends with what was heard", async () => {
  await using world = await openWorld();
  const { engine, aborted } = createSilentEngine("heard");
  // No heartbeat comes within the test: the worker follows its log.
  await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  await world.append(ref, interrupt(2));
  await aborted;
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe("heard");
  expect(events.slice(3)).toMatchObject([
    { type: "output.rewind" },
    { type: "generation.completed", finish_reason: "interrupted", usage: { output_tokens: 1 } },
  ]);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("nothing that an engine says meanwhile follows an interrupt, even if it does not stop", async () => {
  await using world = await openWorld();
  const stopped = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    signal.addEventListener("abort", () => stopped.resolve());
    for (let i = 0; !signal.aborted; i++) {
      yield { type: "text", text: `${i} ` };
      if (i % 100 === 0) await new Promise(setImmediate);
    }
    for (let i = 0; i < 100; i++) yield { type: "text", text: "too late " };
    yield { type: "finish", reason: "stop" };
  });
  await world.startWorker(engine);
  const ref = await world.submit();
  await world.until(ref, (events) => events.length > 10);
  const decide = () => interrupt(2);
  await appendDecision({ ...world.log, ref, writer: "delivery", decide });
  await stopped.promise;
  const types = typesOf(await world.untilEnded(ref));
  expect(types.slice(types.indexOf("output.rewind"))).toEqual(["output.rewind", "generation.completed"]);
});

test("a worker that takes over after an interrupt only ends the generation", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: "again" };
    yield { type: "finish", reason: "stop" };
  });
  const ref = await world.submit({ history: [started(1), delta("a"), delta("b"), interrupt(2)] });
  const waiting = await world.submit({ history: [interrupt(0)] });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe("a");
  expect(events.at(-1)).toMatchObject({ seq: 5, finish_reason: "interrupted" });
  // No engine has read its input.
  expect((await world.untilEnded(waiting)).at(-1)).toMatchObject({
    seq: 2,
    finish_reason: "interrupted",
    usage: { input_tokens: null, output_tokens: 0 },
  });
});

test("an interrupt while a tool is awaited ends the generation without its answer", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine(), { ackWaitMs: 600_000 });
  const ref = await world.submit({ options: { tokens: 4, tokens_per_second: 0, tool_call_after_tokens: 2 } });
  const waiting = await world.until(ref, (events) => typesOf(events).includes("tool.call"));
  const call = waiting.find(({ type }) => type === "tool.call")!;
  await world.append(ref, interrupt(call.seq - 1));
  const events = await world.untilEnded(ref);
  expect(typesOf(events.slice(call.seq))).toEqual(["tool.call", "output.rewind", "generation.completed"]);
});

test("the next message is answered after an interrupt, and the interrupted one is not", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine(), { ackWaitMs: 600_000 });
  const options = { answer: "reply", tokens: 20, tokens_per_second: 0 };
  const undisturbed = await world.submit({ options, request: STREAMED });
  await createWriter(world, undisturbed).append(asSeq(1), [...say("two"), { type: "input.end" }]);
  const second = textOf(await world.untilEnded(undisturbed));

  const ref = await world.submit({ options: { ...options, tokens_per_second: 20 }, request: STREAMED });
  const writer = createWriter(world, ref);
  await writer.append(asSeq(1), say("one"));
  await world.until(ref, (events) => events.length > 4);
  await world.append(ref, interrupt(3, 2));
  await writer.append(asSeq(3), [...say("two"), { type: "input.end" }]);
  const events = await world.untilEnded(ref);
  const heard = textOf(events.slice(0, 4));
  expect(textOf(events)).toBe(heard + second);
  expect(typesOf(events).filter((type) => type === "generation.started")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ finish_reason: "stop" });
});

test("a worker that takes over in the middle of a reply begins that reply again, and no other", async () => {
  await using world = await openWorld();
  const options = { answer: "reply", tokens: 3, tokens_per_second: 0 };
  const entries = [...say("one"), ...say("two"), { type: "input.end" } as const];
  await world.startWorker(createSimEngine(), { ackWaitMs: 600_000 });
  const undisturbed = await world.submit({ options, request: STREAMED });
  await createWriter(world, undisturbed).append(asSeq(1), entries);
  const whole = textOf(await world.untilEnded(undisturbed));

  const history: EventDraft[] = [
    started(1),
    { type: "output.delta", text: "first", item: 2, final: true, consumed: asSeq(2) },
    { type: "output.delta", text: "sec", item: 4 },
  ];
  const ref = await world.submit({ options, request: STREAMED, history });
  await createWriter(world, ref).append(asSeq(1), entries);
  const events = await world.untilEnded(ref);
  expect(events[5]).toMatchObject({ type: "output.rewind", to_seq: 2, reason: "worker_lost" });
  const replies = textOf(events);
  expect(replies.startsWith("first")).toBe(true);
  expect(whole.endsWith(replies.slice("first".length))).toBe(true);

  const interrupted = await world.submit({
    options,
    request: STREAMED,
    history: [...history, interrupt(3, 4)],
  });
  await createWriter(world, interrupted).append(asSeq(1), entries);
  expect(textOf(await world.untilEnded(interrupted))).toBe("firstsec");
});
