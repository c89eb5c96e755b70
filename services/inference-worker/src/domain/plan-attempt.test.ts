import {
  DEFAULT_POLICY,
  type EffectivePolicy,
  type EventDraft,
  type KnownEvent,
  asSeq,
} from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { NO_PREFIX, type Seam } from "../engines/engine.ts";
import type { EngineChoice } from "../model-queues.ts";
import { planAttempt, planNext, toTurn } from "./plan-attempt.ts";
import { RunTranscript } from "./run-transcript.ts";

const usage = { input_tokens: 1, output_tokens: 2 };
const started = (attempt: number, more: object = {}): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "w",
  model: "llama",
  ...more,
});
const ended = (attempt: number, reason: "handover" | "timeout" | "fallback"): EventDraft => ({
  type: "attempt.ended",
  attempt,
  reason,
});
const delta = (text: string, tokens = 1): EventDraft => ({ type: "output.delta", text, tokens });
const reasoning = (text: string): EventDraft => ({ type: "reasoning.delta", text });
const call = (id: string): EventDraft => ({
  type: "tool.call",
  call_id: id,
  name: "look_up",
  arguments: "{}",
});
const result = (id: string): EventDraft => ({ type: "tool.result", call_id: id, output: "42" });
const rewind: EventDraft = { type: "output.rewind", to_seq: asSeq(0), reason: "worker_lost" };
const LOST = { kind: "fail", error: { code: "worker_lost", retryable: true } };
const TAKEOVER = { kind: "begin", reason: "worker_lost", engine: "primary", rewindTo: undefined };

/** The transcript of a log that holds these events after its request. */
function after(...drafts: EventDraft[]): RunTranscript {
  const transcript = new RunTranscript();
  for (const [i, draft] of drafts.entries()) transcript.apply({ seq: i + 1, ...draft } as KnownEvent);
  return transcript;
}

interface Circumstances {
  policy?: Partial<EffectivePolicy>;
  fallbackModel?: string;
  /** The engines that can continue a text. */
  continuing?: readonly EngineChoice[];
}

function toContext({ policy, fallbackModel, continuing = ["primary", "fallback"] }: Circumstances = {}) {
  return {
    policy: { ...DEFAULT_POLICY, ...policy },
    fallbackModel,
    canContinue: (engine: EngineChoice) => continuing.includes(engine),
    servers: () => 1,
  };
}

const plan = (log: RunTranscript, circumstances?: Circumstances) =>
  planAttempt(log, toContext(circumstances));

describe("what a worker does with a job", () => {
  test("it runs a generation without an attempt from nothing, however strict the policy", () => {
    const first = { ...TAKEOVER, attempt: 1, reason: undefined };
    expect(plan(after())).toEqual(first);
    expect(plan(after(), { policy: { max_attempts: 1, on_worker_loss: "fail" }, continuing: [] })).toEqual(
      first,
    );
  });

  test("it continues after what earlier attempts have shown, where the engine can", () => {
    const log = after(started(1), delta("Once ", 2), started(2), delta("upon"));
    expect(plan(log)).toEqual({ ...TAKEOVER, attempt: 3 });
    expect(toTurn(log)).toEqual({
      turns: [],
      prefix: { text: "Once upon", tokens: 3 },
      reasoningTokens: 0,
    });
  });

  test("what was rewound is no part of the prefix", () => {
    const log = after(started(1), delta("Wrong"), started(2), rewind, delta("Right"));
    expect(plan(log)).toMatchObject({ rewindTo: undefined });
    expect(toTurn(log).prefix).toEqual({ text: "Right", tokens: 1 });
  });

  test("it withdraws what was shown and begins again where the engine can't continue", () => {
    expect(plan(after(started(1), delta("Once")), { continuing: [] })).toEqual({
      ...TAKEOVER,
      attempt: 2,
      rewindTo: 0,
    });
  });

  test("it begins again where the policy says so, even if the engine could continue", () => {
    const policy = { on_worker_loss: "restart" } as const;
    expect(plan(after(started(1), delta("Once")), { policy })).toMatchObject({ rewindTo: 0 });
  });

  test("reasoning that was shown is withdrawn too, for no engine continues after it", () => {
    expect(plan(after(started(1), reasoning("Hm.")))).toMatchObject({ attempt: 2, rewindTo: 0 });
  });

  test("an engine is told whether the model has reasoned, and whether an engine has counted, since the last tool's answer", () => {
    const seams: Seam[] = [];
    const canContinue = (_engine: EngineChoice, seam: Seam) => seams.push(seam) > 0;
    const counted: EventDraft = { type: "output.delta", text: "It", tokens: 2, input_tokens: 7 };
    const told = [started(1), reasoning("Hm."), delta("See."), call("a"), result("a")];
    for (const log of [
      [started(1), reasoning("Hm."), counted],
      [started(1), counted],
      [...told, delta("It")],
      [...told, reasoning("So."), counted],
    ]) {
      planAttempt(after(...log), { ...toContext(), canContinue });
    }
    expect(seams.map((seam) => [seam.prefix.tokens, seam.reasoned, seam.counted])).toEqual([
      [2, true, true],
      [2, false, true],
      [1, false, false],
      [2, true, true],
    ]);
  });

  test("what the model has said to itself counts against the limit until it is withdrawn", () => {
    expect(toTurn(after(started(1), reasoning("Hm."), reasoning("So."), delta("a"))).reasoningTokens).toBe(2);
    expect(
      toTurn(after(started(1), reasoning("Hm."), started(2), rewind, reasoning("a"))).reasoningTokens,
    ).toBe(1);
  });

  test("it ends the generation where the policy wants no second attempt", () => {
    expect(plan(after(started(1)), { policy: { on_worker_loss: "fail" } })).toMatchObject(LOST);
  });

  test("it ends the generation once all attempts are used, and not before", () => {
    const policy = { max_attempts: 2 };
    expect(plan(after(started(1)), { policy })).toMatchObject({ kind: "begin", attempt: 2 });
    expect(plan(after(started(1), started(2)), { policy })).toMatchObject(LOST);
  });

  test("a worker that was told to stop has used up no attempt, and is no lost one", () => {
    const policy = { max_attempts: 1, on_worker_loss: "fail" } as const;
    const log = after(started(1), delta("a"), ended(1, "handover"), started(2, { reason: "handover" }));
    expect(plan(after(started(1), ended(1, "handover")), { policy })).toMatchObject({ reason: "handover" });
    expect(plan(log, { policy: { max_attempts: 2 } })).toMatchObject({ attempt: 3, reason: "worker_lost" });
    expect(plan(log, { policy })).toMatchObject(LOST);
  });

  test.each<EventDraft>([
    { type: "generation.completed", finish_reason: "stop", usage },
    { type: "generation.failed", error: { code: "engine_failed", message: "m", retryable: true }, usage },
    { type: "generation.cancelled", reason: "asked", usage },
  ])("it leaves a generation alone that has ended: $type", (end) => {
    expect(plan(after(started(1), delta("Once"), end))).toEqual({ kind: "done" });
    expect(plan(after(end))).toEqual({ kind: "done" });
  });
});

describe("the engine of an attempt", () => {
  const fallbackModel = "small";

  test("is the fallback once the model's own has failed, also after a takeover", () => {
    const fallen = after(started(1), ended(1, "fallback"));
    expect(plan(fallen, { fallbackModel })).toMatchObject({ engine: "fallback", reason: "fallback" });
    const lost = after(
      started(1),
      ended(1, "fallback"),
      started(2, { model: "small", reason: "fallback" }),
      delta("a"),
    );
    expect(plan(lost, { fallbackModel })).toMatchObject({ engine: "fallback", reason: "worker_lost" });
    expect(plan(lost, { fallbackModel, continuing: ["primary"] })).toMatchObject({ rewindTo: 0 });
  });

  test("is the model's own again when its fallback is no longer configured", () => {
    expect(plan(after(started(1), ended(1, "fallback")))).toMatchObject({ engine: "primary" });
  });
});

describe("after tools", () => {
  const turn = [started(1), delta("Let me see. ", 3), call("a"), call("b"), result("b"), result("a")];

  test("an engine is told of every turn that is over, and of the text after the last", () => {
    expect(toTurn(after(...turn, delta("It is 42.")))).toEqual({
      turns: [
        { type: "text", text: "Let me see. ", tokens: 3 },
        { type: "tool_call", call_id: "a", name: "look_up", arguments: "{}" },
        { type: "tool_call", call_id: "b", name: "look_up", arguments: "{}" },
        { type: "tool_result", call_id: "b", output: "42" },
        { type: "tool_result", call_id: "a", output: "42" },
      ],
      prefix: { text: "It is 42.", tokens: 1 },
      reasoningTokens: 0,
    });
    expect(toTurn(after(...turn)).prefix).toEqual(NO_PREFIX);
  });

  test("an engine that can't continue begins again after the last answer: no tool is called twice", () => {
    expect(plan(after(...turn, delta("It")), { continuing: [] })).toMatchObject({ rewindTo: 6 });
    expect(plan(after(...turn), { continuing: [] })).toMatchObject({ rewindTo: undefined });
  });

  test("a takeover while a call waits withdraws nothing", () => {
    const waiting = after(...turn.slice(0, 4));
    expect(plan(waiting, { continuing: [] })).toMatchObject({ rewindTo: undefined });
    expect(plan(waiting, { policy: { on_worker_loss: "restart" } })).toMatchObject({ rewindTo: undefined });
  });
});

test("a retry is numbered and named, and withdraws nothing where nothing was shown", () => {
  const log = after(started(1), ended(1, "timeout"));
  expect(planNext(log, toContext({ continuing: [] }), "timeout")).toEqual({
    kind: "begin",
    attempt: 2,
    reason: "timeout",
    engine: "primary",
    rewindTo: undefined,
  });
});
