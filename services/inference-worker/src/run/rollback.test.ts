import type { GenerationRef, KnownEvent } from "@reprise/protocol";
import { eventually, redacted } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { answered, attemptsIn, CANCELLED } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted, createPausedSimulator, hasTokens } from "../testing/fake-engines.ts";
import { openWorldToRollBack, textOf, typesOf } from "../testing/world.ts";

/* A store that loses what it has acknowledged, under a worker that still knows it. */

type World = Awaited<ReturnType<typeof openWorldToRollBack>>;

const OPTIONS = { tokens: 200, tokens_per_second: 500, seed: 4 };
/** A worker that has nothing to append reads its log three times as often. */
const ACK_WAIT_MS = 3_000;
const POLICY = { max_attempts: 1, on_worker_loss: "fail" } as const;
const RESTORED = [
  [1, undefined],
  [2, "log_lost"],
  [3, "handover"],
];

const END = Number.POSITIVE_INFINITY;

const has =
  (type: KnownEvent["type"], count = 1) =>
  (events: readonly KnownEvent[]) =>
    events.filter((event) => event.type === type).length >= count;

/** The simulator's output in an undisturbed run, and its size. */
async function undisturbed(world: World) {
  const events = await world.untilEnded(
    await world.submit({ options: { ...OPTIONS, tokens_per_second: 0 } }),
  );
  return { text: textOf(events), usage: (events.at(-1) as { usage?: object }).usage };
}

/** Loses all events since the snapshot. Resolves when this process can reach the broker again. */
async function rollBack(world: World, ref: GenerationRef) {
  await world.server.restoreStore();
  await expect.poll(() => world.log.connected).toBe(true);
  await eventually(() => Promise.all([world.log.leader.readLast(ref), world.queuedJobs()]));
}

test("what the store has lost of a running generation is put back, and the text is that of an undisturbed run", async () => {
  await using world = await openWorldToRollBack();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const { text, usage } = await undisturbed(world);
  engine.sayUpTo(20);
  const ref = await world.submit({ options: OPTIONS, policy: POLICY });
  await world.until(ref, hasTokens(20));
  await world.server.snapshotStore();
  engine.sayUpTo(60);
  await world.until(ref, hasTokens(60));
  await rollBack(world, ref);
  engine.sayUpTo(END);
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe(text);
  expect(attemptsIn(events)).toEqual(RESTORED);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i));
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage });
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("a generation of which nothing is left at all, neither request nor job, is put back too, for any worker", async () => {
  await using world = await openWorldToRollBack();
  const engine = createPausedSimulator();
  const first = await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const { text, usage } = await undisturbed(world);
  await world.server.snapshotStore();
  engine.sayUpTo(40);
  const ref = await world.submit({ options: OPTIONS, policy: POLICY });
  await world.until(ref, hasTokens(40));
  await rollBack(world, ref);
  engine.sayUpTo(60);
  await world.until(ref, (events) => attemptsIn(events).length === 2 && hasTokens(60)(events));
  await world.startWorker(createSimEngine(), { ackWaitMs: ACK_WAIT_MS });
  await first.close();
  const events = await world.untilEnded(ref);
  expect(events[0]).toMatchObject({ type: "generation.requested", ...ref });
  expect(textOf(events)).toBe(text);
  expect(attemptsIn(events)).toEqual([
    [2, "log_lost"],
    [3, "handover"],
    [4, "handover"],
  ]);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage });
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("tool calls and their answers that were lost are put back: no tool is called twice", async () => {
  await using world = await openWorldToRollBack();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const { text, usage } = await undisturbed(world);
  engine.sayUpTo(10);
  const ref = await world.submit({
    options: { ...OPTIONS, tool_call_after_tokens: 30, tool_calls: 2 },
    policy: POLICY,
  });
  await world.until(ref, hasTokens(10));
  await world.server.snapshotStore();
  engine.sayUpTo(50);
  await world.until(ref, has("tool.call", 2));
  for (const id of ["sim_call_30_1", "sim_call_30_0"]) await world.append(ref, answered(id));
  await world.until(ref, hasTokens(50));
  await rollBack(world, ref);
  engine.sayUpTo(END);
  const events = await world.untilEnded(ref);
  expect(textOf(events)).toBe(text);
  expect(attemptsIn(events)).toEqual(RESTORED);
  expect(typesOf(events).filter((type) => type.startsWith("tool."))).toEqual([
    "tool.call",
    "tool.call",
    "tool.result",
    "tool.result",
  ]);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage });
});

test("text that was withdrawn is put back without it, what is left of it is withdrawn again, and the engine continues", async () => {
  await using world = await openWorldToRollBack();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const { text } = await undisturbed(world);
  engine.sayUpTo(10);
  const ref = await world.submit({ options: OPTIONS, policy: POLICY });
  await world.until(ref, hasTokens(10));
  engine.sayUpTo(20);
  await world.until(ref, hasTokens(20));
  await world.server.snapshotStore();
  engine.sayUpTo(40);
  await world.until(ref, hasTokens(40));
  engine.sayUpTo(60);
  const said = (await world.until(ref, hasTokens(60))).filter((event) => event.type === "output.delta");
  // From before the loss to after it, for any number of events.
  const range = said.slice(1, -1);
  await world.append(ref, redacted(range[0]!.seq, range.at(-1)!.seq));
  engine.sayUpTo(80);
  // The worker has written after it, so it knows of it.
  await world.until(ref, (events) => has("moderation.redacted")(events) && hasTokens(80)(events));
  await rollBack(world, ref);
  engine.sayUpTo(END);
  const events = await world.untilEnded(ref);
  const withdrawn = range.map((event) => event.text).join("");
  expect(textOf(events)).toBe(text.replace(withdrawn, "[redacted]"));
  expect(attemptsIn(events)).toEqual(RESTORED);
  expect(events.filter(({ type }) => type === "moderation.redacted")).toMatchObject([
    { from_seq: range[0]!.seq },
  ]);
});

test("a call that is lost while its answer is waited for is asked again under the same name", async () => {
  await using world = await openWorldToRollBack();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const { text } = await undisturbed(world);
  engine.sayUpTo(10);
  const ref = await world.submit({ options: { ...OPTIONS, tool_call_after_tokens: 30 }, policy: POLICY });
  await world.until(ref, hasTokens(10));
  await world.server.snapshotStore();
  engine.sayUpTo(END);
  await world.until(ref, has("tool.call"));
  await rollBack(world, ref);
  // Nothing is appended meanwhile: the worker notices because the broker was away.
  await world.until(ref, (events) => attemptsIn(events).length === 3 && has("tool.call")(events));
  await world.append(ref, answered("sim_call_30_0"));
  expect(textOf(await world.untilEnded(ref))).toBe(text);
});

test("a cancel after the loss is kept, and nothing is put back after it", async () => {
  await using world = await openWorldToRollBack();
  const more = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield { type: "text", text: "a" };
    await more.promise;
    yield { type: "text", text: "b" };
    await untilAborted(signal);
  });
  await world.startWorker(engine, { ackWaitMs: ACK_WAIT_MS });
  const ref = await world.submit();
  await world.until(ref, hasTokens(1));
  await world.server.snapshotStore();
  more.resolve();
  await world.until(ref, hasTokens(2));
  await rollBack(world, ref);
  await world.append(ref, CANCELLED);
  await expect.poll(() => world.queuedJobs()).toBe(0);
  const types = typesOf(await world.read(ref));
  expect(types.at(-1)).toBe("generation.cancelled");
  expect(types.filter((type) => /completed|failed|cancelled/.test(type))).toHaveLength(1);
});
