import { DEFAULT_POLICY, type EventDraft, Transcript } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { NO_PREFIX } from "../engines/engine.ts";
import { planAttempt } from "./plan-attempt.ts";

const usage = { input_tokens: 1, output_tokens: 2 };
const started = (attempt: number): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "w",
  model: "sim",
});
const delta = (text: string, tokens = 1): EventDraft => ({ type: "output.delta", text, tokens });
const reasoning = (text: string): EventDraft => ({ type: "reasoning.delta", text });
const LOST = { kind: "fail", error: { code: "worker_lost", retryable: true } };
const rewind: EventDraft = { type: "output.rewind", to_seq: 0, reason: "worker_lost" };

/** What a log says that holds these events behind its request. */
function after(...drafts: EventDraft[]): Transcript {
  const transcript = new Transcript();
  for (const [i, draft] of drafts.entries()) transcript.apply({ seq: i + 1, ...draft });
  return transcript;
}

describe("what a worker does with a job", () => {
  test("it runs a generation that nobody has begun, from nothing", () => {
    expect(planAttempt(after(), DEFAULT_POLICY, true)).toEqual({
      kind: "run",
      attempt: 1,
      prefix: NO_PREFIX,
      rewind: false,
    });
  });

  test("a strict policy does not hinder the first attempt", () => {
    const strict = { ...DEFAULT_POLICY, max_attempts: 1, on_worker_loss: "fail" } as const;
    expect(planAttempt(after(), strict, false)).toMatchObject({ kind: "run", attempt: 1 });
  });

  test("it goes on behind what earlier attempts have shown, where the engine can", () => {
    const log = after(started(1), delta("Once ", 2), started(2), delta("upon"));
    expect(planAttempt(log, DEFAULT_POLICY, true)).toEqual({
      kind: "run",
      attempt: 3,
      prefix: { text: "Once upon", tokens: 3 },
      rewind: false,
    });
  });

  test("what was rewound is no part of the prefix", () => {
    const log = after(started(1), delta("Wrong"), started(2), rewind, delta("Right"));
    expect(planAttempt(log, DEFAULT_POLICY, true)).toMatchObject({ prefix: { text: "Right", tokens: 1 } });
  });

  test("it withdraws what was shown and begins anew where the engine can't go on", () => {
    expect(planAttempt(after(started(1), delta("Once")), DEFAULT_POLICY, false)).toEqual({
      kind: "run",
      attempt: 2,
      prefix: NO_PREFIX,
      rewind: true,
    });
  });

  test("it begins anew where the policy says so, even if the engine could go on", () => {
    const policy = { ...DEFAULT_POLICY, on_worker_loss: "restart" } as const;
    expect(planAttempt(after(started(1), delta("Once")), policy, true)).toMatchObject({
      rewind: true,
      prefix: NO_PREFIX,
    });
  });

  test("there is nothing to withdraw where nothing was shown", () => {
    expect(planAttempt(after(started(1)), DEFAULT_POLICY, false)).toMatchObject({
      kind: "run",
      attempt: 2,
      rewind: false,
    });
  });

  test("reasoning that was shown is withdrawn too, for no engine goes on behind it", () => {
    const log = after(started(1), reasoning("Hm."));
    expect(planAttempt(log, DEFAULT_POLICY, true)).toMatchObject({
      kind: "run",
      attempt: 2,
      prefix: NO_PREFIX,
      rewind: true,
    });
  });

  test("it ends the generation where the policy wants no second attempt", () => {
    const policy = { ...DEFAULT_POLICY, on_worker_loss: "fail" } as const;
    expect(planAttempt(after(started(1)), policy, true)).toMatchObject(LOST);
  });

  test("it ends the generation once all attempts are used, and not before", () => {
    const policy = { ...DEFAULT_POLICY, max_attempts: 2 };
    expect(planAttempt(after(started(1)), policy, true)).toMatchObject({ kind: "run", attempt: 2 });
    expect(planAttempt(after(started(1), started(2)), policy, true)).toMatchObject(LOST);
  });

  test.each<EventDraft>([
    { type: "generation.completed", finish_reason: "stop", usage },
    { type: "generation.failed", error: { code: "engine_failed", message: "m", retryable: true }, usage },
    { type: "generation.cancelled", reason: "asked", usage },
  ])("it leaves a generation alone that has ended: $type", (end) => {
    expect(planAttempt(after(started(1), delta("Once"), end), DEFAULT_POLICY, true)).toEqual({
      kind: "done",
    });
    expect(planAttempt(after(end), DEFAULT_POLICY, true)).toEqual({ kind: "done" });
  });
});
