import type { Job } from "@reprise/jobs";
import {
  asSeq,
  type EventDraft,
  type GenerationRef,
  parseConversationId,
  type Prompt,
} from "@reprise/protocol";
import { completed, redacted } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { CANCELLED, delta, FAILED, started } from "../testing/drafts.ts";
import { createListener } from "../testing/fake-engines.ts";
import { openWorld, type World } from "../testing/world.ts";

/* Turns that wait for the summary of those that they are without. */

const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
const SYSTEM = { role: "system" as const, content: "Be brief." };

const asked = (content: string) => ({ role: "user" as const, content });
const answered = (content: string) => ({ role: "assistant" as const, content });
/** An old turn, the generation that is to sum it up, and the turn that waits for that. */
async function open(world: World, history: readonly EventDraft[] = []) {
  const old = await world.submit({
    request: { input: "A secret?", conversation },
    history: [started(1), delta("It is 42."), completed()],
  });
  const left = {
    generation: old.generation,
    seq: asSeq(3),
    items: [asked("A secret?"), answered("It is 42.")],
  };
  const place = { conversation, turn: 3 };
  const summary = await world.submit({
    request: { input: "Sum up.", conversation },
    prompt: [left],
    context: { ...place, summarizes: 1 },
    history,
  });
  const prompt: Prompt = [{ items: [SYSTEM] }];
  const needed = { generation: summary.generation, turns: 1, bytes: 1_000 };
  const turn = await world.submit({
    request: { input: "Now?", conversation },
    prompt,
    context: { ...place, dropped_turns: 1, summary: needed },
  });
  return { old, summary, turn };
}

const WITHOUT = [SYSTEM, asked("Now?")];
const withSummary = (text: string) => [SYSTEM, asked("Sum up."), answered(text), asked("Now?")];

test("a turn and its summary go through one slot, also where the summary's worker was killed", async () => {
  await using world = await openWorld();
  const { turn } = await open(world, [started(1)]);
  const { engine, inputs } = createListener();
  await using _ = await world.startWorker(engine, { slots: 1 });
  await world.untilEnded(turn);
  expect(inputs).toEqual([[asked("A secret?"), answered("It is 42."), asked("Sum up.")], withSummary("1.")]);
});

/** Runs the turn and has its summary end only once it waits. */
async function runBeside(
  world: World,
  refs: { turn: GenerationRef; summary: GenerationRef },
  end: EventDraft,
) {
  const { engine, inputs } = createListener();
  const park = vi.fn<Job["park"]>();
  const running = world.run(refs.turn, engine, { job: { park } });
  await expect.poll(() => park.mock.calls.length).toBeGreaterThan(0);
  expect(inputs).toEqual([]);
  await world.append(refs.summary, end);
  expect(await running).toBe("completed");
  return inputs;
}

test("a turn begins once its summary has ended, and has it", async () => {
  await using world = await openWorld();
  const refs = await open(world, [started(1), delta("In short.")]);
  expect(await runBeside(world, refs, completed())).toEqual([withSummary("In short.")]);
});

test.each([
  ["fails", FAILED],
  ["is cancelled", CANCELLED],
])("a turn is without the turns that do not fit where their summary %s", async (_, end) => {
  await using world = await openWorld();
  const refs = await open(world, [started(1), delta("In short.")]);
  expect(await runBeside(world, refs, end)).toEqual([WITHOUT]);
});

test.each([
  ["words that were withdrawn of a summary are", "summary", withSummary("[removed]")],
  ["a summary of words that were withdrawn since is", "old", WITHOUT],
] as const)("%s given to no model", async (_, withdrawn, input) => {
  await using world = await openWorld();
  const opened = await open(world, [started(1), delta("It was 42."), completed()]);
  await world.append(opened[withdrawn], redacted(2, 2, "[removed]"));
  const { engine, inputs } = createListener();
  expect(await world.run(opened.turn, engine)).toBe("completed");
  expect(inputs).toEqual([input]);
});
