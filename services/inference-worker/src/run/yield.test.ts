import type { GenerationRef } from "@reprise/protocol";
import { expect, test } from "vitest";
import { answered, attemptsIn } from "../testing/drafts.ts";
import { createPausedSimulator, hasTokens } from "../testing/fake-engines.ts";
import { openWorld, type Submission, textOf, typesOf, type World } from "../testing/world.ts";

const TOKENS = 400;
/** One attempt is all it may have: a yield uses up none. */
const POLICY = { max_attempts: 1, on_worker_loss: "fail" } as const;
const OPTIONS = { tokens: TOKENS, tokens_per_second: 0, seed: 9 };

const submitBatch = (world: World, submission: Submission = {}) =>
  world.submit({
    policy: POLICY,
    ...submission,
    options: { ...OPTIONS, ...submission.options },
    request: { priority: "batch" },
  });

/** The text of another generation with the same request, which nothing disturbs. */
async function undisturbedText(world: World): Promise<string> {
  const ref = await world.submit({ options: OPTIONS });
  return textOf(await world.untilEnded(ref));
}

test("a batch generation yields its slot to an interactive one, and continues after its text when a slot is free", async () => {
  await using world = await openWorld();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { slots: 1 });
  const expected = await undisturbedText(world);
  engine.sayUpTo(50);
  const batch = await submitBatch(world);
  await world.until(batch, hasTokens(50));
  const interactive = await world.submit({ options: { tokens: 5 } });
  expect((await world.untilEnded(interactive)).at(-1)).toMatchObject({ type: "generation.completed" });
  engine.sayUpTo(Number.POSITIVE_INFINITY);
  const events = await world.untilEnded(batch);
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "handover"],
  ]);
  expect(typesOf(events)).not.toContain("output.rewind");
  expect(textOf(events)).toBe(expected);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: TOKENS } });
  expect(await world.queuedJobs()).toBe(0);
});

test("an engine that can't continue keeps the slot: another generation, which has run for longer, yields", async () => {
  await using world = await openWorld();
  const engine = createPausedSimulator();
  await world.startWorker(engine, { slots: 2 });
  engine.sayUpTo(50);
  const batch: GenerationRef[] = [];
  for (const continuable of [true, false]) {
    const ref = await submitBatch(world, { options: { continuable } });
    batch.push(ref);
    await world.until(ref, hasTokens(50));
  }
  await world.untilEnded(await world.submit({ options: { tokens: 5 } }));
  engine.sayUpTo(Number.POSITIVE_INFINITY);
  const attempts: unknown[] = [];
  for (const ref of batch) attempts.push(attemptsIn(await world.untilEnded(ref)).length);
  expect(attempts).toEqual([2, 1]);
});

test("a batch generation that waits for a tool is not handed over, and needs no slot", async () => {
  await using world = await openWorld();
  await world.startWorker(createPausedSimulator(), { slots: 1 });
  const batch = await submitBatch(world, { options: { tool_call_after_tokens: 20 } });
  await world.until(batch, (events) => events.some(({ type }) => type === "tool.call"));
  await world.untilEnded(await world.submit({ options: { tokens: 5 } }));
  await world.append(batch, answered("sim_call_20_0"));
  const events = await world.untilEnded(batch);
  expect(attemptsIn(events)).toEqual([[1, undefined]]);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: TOKENS } });
});

test("many batch generations that yield again and again lose nothing and say nothing twice", async () => {
  await using world = await openWorld();
  const engine = createPausedSimulator();
  const slots = 3;
  await world.startWorker(engine, { slots });
  await world.startWorker(engine, { slots });
  const expected = await undisturbedText(world);
  const all = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make));
  engine.sayUpTo(1);
  const batch: GenerationRef[] = await all(4 * slots, () => submitBatch(world));
  for (let round = 1; round <= 3; round++) {
    engine.sayUpTo(100 * round);
    // None of the batch generations can end meanwhile: each of these has the slot of one.
    const interactive = await all(2 * slots, () => world.submit({ options: { tokens: 1 } }));
    for (const ref of interactive) await world.untilEnded(ref);
  }
  engine.sayUpTo(Number.POSITIVE_INFINITY);
  let yielded = 0;
  for (const ref of batch) {
    const events = await world.untilEnded(ref);
    expect(textOf(events)).toBe(expected);
    expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: TOKENS } });
    const [, ...later] = attemptsIn(events);
    expect(new Set(later.map(([, reason]) => reason)).difference(new Set(["handover"]))).toEqual(new Set());
    yielded += later.length;
  }
  expect(yielded).toBeGreaterThanOrEqual(2 * slots);
});
