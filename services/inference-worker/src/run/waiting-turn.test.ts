import type { Job } from "@reprise/jobs";
import { storeVerdict } from "@reprise/moderation";
import {
  asSeq,
  asStreamSeq,
  type GenerationRef,
  parseConversationId,
  type Prompt,
  type TurnContext,
} from "@reprise/protocol";
import { completed, moderatedPolicy, redacted } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import type { EngineRequest } from "../engines/engine.ts";
import { delta, FAILED, started } from "../testing/drafts.ts";
import { createFakeEngine, createListener, untilAborted } from "../testing/fake-engines.ts";
import { openWorld, typesOf, type World } from "../testing/world.ts";

/* Turns that were created while earlier ones of their conversation were active. */

const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
const ROOM = { when_full: "error", bytes: 1_000_000 } as const;

const contextOf = (turn: number, waitsFor: readonly GenerationRef[], room: TurnContext["room"] = ROOM) => ({
  conversation,
  turn,
  ...(waitsFor.length > 0 && { waits_for: waitsFor.map(({ generation }) => generation), room }),
});

interface Waiting {
  readonly input?: EngineRequest["input"];
  readonly prompt?: Prompt;
  readonly room?: TurnContext["room"];
}

function submit(world: World, waitsFor: readonly GenerationRef[], { input, prompt, room }: Waiting = {}) {
  return world.submit({
    request: { input: input ?? `${waitsFor.length + 1}?`, conversation },
    ...(prompt && { prompt }),
    needs: ["history"],
    context: contextOf(waitsFor.length + 1, waitsFor, room),
  });
}

const asked = (content: string) => ({ role: "user", content });
const answered = (content: string) => ({ role: "assistant", content });

test("a queue of 16 turns runs in its order through one slot", async () => {
  await using world = await openWorld();
  const { engine, inputs } = createListener();
  const first = await world.submit({ request: { input: "1?", conversation }, context: contextOf(1, []) });
  const turns = [first];
  while (turns.length < 17) turns.push(await submit(world, turns));
  await using _ = await world.startWorker(engine, { slots: 1 });
  for (const turn of turns) await world.untilEnded(turn);
  const history = [...turns.keys()].flatMap((i) => [asked(`${i + 1}?`), answered(`${i + 1}.`)]);
  expect(inputs.slice(1)).toEqual([...turns.keys()].slice(0, -1).map((i) => history.slice(0, 2 * i + 3)));
});

test("a turn waits without a slot, and another generation has it", async () => {
  await using world = await openWorld();
  const { engine, inputs } = createListener();
  let asksTool = true;
  const asking = createFakeEngine(async function* (request, options) {
    if (request.input === "1?" && asksTool) {
      asksTool = false;
      yield { type: "tool_call", callId: "c1", name: "f", arguments: "{}" };
      yield { type: "finish", reason: "tool_calls" };
    } else yield* engine.generate(request, options);
  });
  const head = await world.submit({ request: { input: "1?", conversation }, context: contextOf(1, []) });
  await using _ = await world.startWorker(asking, { slots: 1 });
  await world.until(head, (events) => typesOf(events).includes("tool.call"));
  const waiting = await submit(world, [head]);
  const other = await world.submit({ request: { input: "Other?" } });
  await world.untilEnded(other);
  expect(typesOf(await world.read(waiting))).toEqual(["generation.requested"]);
  await world.append(head, { type: "tool.result", call_id: "c1", output: 1 });
  await world.untilEnded(waiting);
  const call = { role: "assistant", tool_calls: [{ call_id: "c1", name: "f", arguments: "{}" }] };
  const result = { role: "tool", call_id: "c1", output: 1 };
  expect(inputs).toEqual(["Other?", "1?", [asked("1?"), call, result, answered("2."), asked("2?")]]);
});

test("a turn continues after the last good one where the one before it fails", async () => {
  await using world = await openWorld();
  const { engine, inputs } = createListener();
  const prompt: Prompt = [{ items: [{ role: "system", content: "Be brief." }] }];
  const head = await world.submit({ history: [started(1), delta("Bad.")], request: { conversation } });
  const waiting = await submit(world, [head], { prompt });
  const running = world.run(waiting, engine);
  await world.append(head, FAILED);
  expect(await running).toBe("completed");
  expect(inputs).toEqual([[{ role: "system", content: "Be brief." }, asked("2?")]]);
});

test("a turn whose worker is gone is made the same prompt by the next one, without what was withdrawn since", async () => {
  await using world = await openWorld();
  const policy = moderatedPolicy({ mode: "observe" });
  const history = [started(1), delta("It is 42."), completed()];
  const head = await world.submit({ request: { input: "A secret?", conversation }, policy, history });
  const waiting = await submit(world, [head]);
  const leaving = new AbortController();
  const asking = createFakeEngine(async function* (_, { signal }) {
    leaving.abort();
    yield await untilAborted(signal);
  });
  expect(await world.run(waiting, asking, { handover: leaving.signal })).toBe("handed_over");
  await world.append(head, redacted(2, 2, "[removed]"));
  const { engine, inputs } = createListener();
  expect(await world.run(waiting, engine)).toBe("completed");
  expect(inputs).toEqual([[asked("A secret?"), answered("[removed]"), asked("2?")]]);
});

test("a turn waits until readers may have all of one that is gated", async () => {
  await using world = await openWorld();
  const policy = moderatedPolicy({ mode: "gate" });
  const history = [started(1), delta("Hello."), completed()];
  const head = await world.submit({ request: { input: "1?", conversation }, policy, history });
  const waiting = await submit(world, [head]);
  const { engine, inputs } = createListener();
  const park = vi.fn<Job["park"]>();
  const running = world.run(waiting, engine, { job: { park } });
  await expect.poll(() => park.mock.calls.length).toBeGreaterThan(0);
  const verdict = { judged: asSeq(3), cleared: asSeq(3), decided: asSeq(0) };
  expect(inputs).toEqual([]);
  await storeVerdict(world.log.publish, head, verdict, { expectedLast: asStreamSeq(0) });
  expect(await running).toBe("completed");
  expect(inputs).toEqual([[asked("1?"), answered("Hello."), asked("2?")]]);
});

test("a cancel ends a turn that waits, and it never meets an engine", async () => {
  await using world = await openWorld();
  const head = await world.submit({ history: [started(1)], request: { conversation } });
  const waiting = await submit(world, [head]);
  const { engine, inputs } = createListener();
  const park = vi.fn<Job["park"]>();
  const running = world.run(waiting, engine, { job: { park } });
  await expect.poll(() => park.mock.calls.length).toBeGreaterThan(0);
  await world.append(waiting, {
    type: "generation.cancelled",
    reason: "requested",
    usage: { input_tokens: null, output_tokens: 0 },
  });
  expect(await running).toBe("stopped");
  expect(inputs).toEqual([]);
});

test("a worker without room for jobs that wait gives a turn back", async () => {
  await using world = await openWorld();
  const head = await world.submit({ history: [started(1)], request: { conversation } });
  const waiting = await submit(world, [head]);
  const release = vi.fn<Job["release"]>();
  const job = { release, hasRoomToWait: () => false };
  expect(await world.run(waiting, createListener().engine, { job })).toBe("handed_over");
  expect(release).toHaveBeenCalledWith(5_000);
});

test.each([
  ["whose prompt does not fit", { room: { ...ROOM, bytes: 10 } }, "conversation_full"],
  [
    "that answers a call which was not made",
    { input: [{ role: "tool" as const, call_id: "c1", output: 1 }] },
    "invalid_request",
  ],
])("a turn %s fails, once that is known", async (_, more, code) => {
  await using world = await openWorld();
  const history = [started(1), delta("Hello."), completed()];
  const head = await world.submit({ request: { input: "1?", conversation }, history });
  const waiting = await submit(world, [head], more);
  expect(await world.run(waiting, createListener().engine)).toBe("failed");
  const [, end] = await world.read(waiting);
  expect(end).toMatchObject({ type: "generation.failed", error: { code } });
});
