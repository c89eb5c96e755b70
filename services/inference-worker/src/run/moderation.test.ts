import { type EffectiveModeration, type EventDraft, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent } from "../engines/engine.ts";
import { called, delta, started } from "../testing/drafts.ts";
import { createFakeEngine, createSilentEngine } from "../testing/fake-engines.ts";
import { openWorld, transcriptOf, typesOf } from "../testing/world.ts";

/* What moderation appends, live or before a worker has come. */

const found = { rule: "terms", category: "terms" };
const range = { from_seq: asSeq(2), to_seq: asSeq(2), ...found };
const HALTED: EventDraft = {
  type: "moderation.halted",
  from_seq: asSeq(2),
  replacement: "[stopped]",
  ...found,
};
const REDACTED: EventDraft = { type: "moderation.redacted", replacement: "[redacted]", ...range };
const ASKED: EventDraft = {
  type: "moderation.review",
  review_id: "rev_4",
  expires_at: "2026-11-22T00:00:00Z",
  ...range,
};
const APPROVED: EventDraft = {
  type: "moderation.reviewed",
  review_id: "rev_4",
  decision: "approve",
  reviewer: "ann",
};
const GATE: EffectiveModeration = {
  mode: "gate",
  rule_set: "rules",
  replacement: "*",
  on_unavailable: { answer: "fail_closed", after_ms: 5_000 },
  review: { answer: "redact", after_ms: 60_000 },
};
const ANNOTATIONS: EventDraft[] = [
  { type: "moderation.unavailable", answer: "fail_open", judged_seq: asSeq(1) },
  ASKED,
  { type: "moderation.reviewed", review_id: "rev_4", decision: "edit", reviewer: "ann", replacement: "" },
  REDACTED,
];
const FILTERED = { type: "generation.completed", finish_reason: "content_filter" };

test("a halt lets go of an engine that is silent, and the generation ends as filtered", async () => {
  await using world = await openWorld();
  const { engine, aborted } = createSilentEngine("and then");
  // No heartbeat comes within the test: what the worker does, it does because it follows its log.
  await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  await world.append(ref, HALTED);
  await aborted;
  const events = await world.untilEnded(ref);
  expect(typesOf(events).slice(1)).toEqual([
    "generation.started",
    "output.delta",
    "moderation.halted",
    "generation.completed",
  ]);
  expect(events.at(-1)).toMatchObject({ ...FILTERED, usage: { output_tokens: 1 } });
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("what an engine says after a halt is not appended, and its own end is not the generation's", async () => {
  await using world = await openWorld();
  const ref = await world.submit();
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: "and then" };
    await world.until(ref, (events) => events.length === 3);
    await world.append(ref, HALTED);
    yield { type: "text", text: "too late" };
    yield { type: "finish", reason: "stop" };
  });
  expect(await world.run(ref, engine)).toBe("completed");
  const events = await world.read(ref);
  expect(typesOf(events).slice(2)).toEqual(["output.delta", "moderation.halted", "generation.completed"]);
  expect(events.at(-1)).toMatchObject(FILTERED);
});

test("a halt ends a generation that waits for tools", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield { type: "tool_call", callId: "a", name: "look_up", arguments: "{}" };
    yield { type: "finish", reason: "tool_calls" };
  });
  await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.some(({ type }) => type === "tool.call"));
  await world.append(ref, HALTED);
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject(FILTERED);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test.each([
  ["while its worker was lost", [started(1), delta("and then"), HALTED]],
  ["while tools were waited for", [started(1), called("a"), HALTED]],
  ["when no attempt is left", [started(1), started(2), started(3), HALTED]],
] satisfies [string, EventDraft[]][])(
  "a generation that was halted %s is ended, not run",
  async (_name, history) => {
    await using world = await openWorld();
    const ref = await world.submit({ history });
    const engine = createFakeEngine(() => {
      throw new Error("the engine was asked");
    });
    expect(await world.run(ref, engine)).toBe("completed");
    const events = await world.read(ref);
    expect(typesOf(events).slice(1)).toEqual([...typesOfDrafts(history), "generation.completed"]);
    expect(events.at(-1)).toMatchObject(FILTERED);
  },
);

test("what else moderation appends disturbs no worker", async () => {
  await using world = await openWorld();
  const more = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: "one " };
    await more.promise;
    yield { type: "text", text: "two" };
    yield { type: "finish", reason: "stop" };
  });
  await world.startWorker(engine);
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  for (const annotation of ANNOTATIONS) await world.append(ref, annotation);
  more.resolve();
  const events = await world.untilEnded(ref);
  expect(typesOf(events).slice(2)).toEqual([
    "output.delta",
    ...typesOfDrafts(ANNOTATIONS),
    "output.delta",
    "generation.completed",
  ]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "stop" });
  expect(transcriptOf(events).text).toBe("[redacted]two");
});

test("the time for a tool's answer begins when a person has let readers see the call", async () => {
  await using world = await openWorld();
  const tool_result = { after_ms: 1, answer: "fail" } as const;
  const policy = { timeouts: { tool_result }, moderation: GATE };
  const history = [started(1), delta("Hello"), called("a"), ASKED];
  const ref = await world.submit({ policy, history });
  await world.startWorker(createFakeEngine(() => expect.unreachable("the engine was asked")));
  await world.until(ref, (events) => events.at(-1)?.type === "generation.started");
  await world.append(ref, APPROVED);
  const events = await world.untilEnded(ref);
  expect(typesOf(events).slice(-2)).toEqual(["moderation.reviewed", "generation.failed"]);
  expect(events.at(-1)).toMatchObject({ error: { code: "tool_result_timeout" } });
});

test("an engine continues after the text that it has produced, not after what readers see of it", async () => {
  await using world = await openWorld();
  const prefixes: string[] = [];
  const engine = createFakeEngine(
    async function* (_request, { prefix }): AsyncGenerator<EngineEvent> {
      prefixes.push(prefix.text);
      yield { type: "text", text: " there" };
      yield { type: "finish", reason: "stop" };
    },
    { canContinue: () => true },
  );
  const ref = await world.submit({ history: [started(1), delta("Hello"), REDACTED] });
  await world.run(ref, engine);
  expect(prefixes).toEqual(["Hello"]);
  expect(transcriptOf(await world.read(ref)).text).toBe("[redacted] there");
});

function typesOfDrafts(drafts: readonly EventDraft[]): string[] {
  return drafts.map(({ type }) => type);
}
