import {
  DEFAULT_POLICY,
  type EffectiveTimeouts,
  type ErrorCode,
  type EventDraft,
  RepriseError,
  type TakeoverReason,
  type KnownEvent,
} from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { EngineError, type EngineRetry } from "../engines/engine-error.ts";
import type { Fit } from "../schema/fits-schema.ts";
import { afterTimeout, afterTurn, type EngineOutcome, type TurnFacts } from "./after-turn.ts";
import type { EngineChoice } from "../model-queues.ts";
import { RunTranscript } from "./run-transcript.ts";

const usage = { input_tokens: 3, output_tokens: 2 };
const started = (attempt: number, reason?: TakeoverReason): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "w",
  model: "llama",
  ...(reason && { reason }),
});
const delta: EventDraft = { type: "output.delta", text: "Once" };
const reasoning: EventDraft = { type: "reasoning.delta", text: "Hm." };
const call: EventDraft = { type: "tool.call", call_id: "a", name: "look_up", arguments: "{}" };
const result: EventDraft = { type: "tool.result", call_id: "a", output: 42 };

interface Circumstances {
  log?: readonly EventDraft[];
  engine?: EngineChoice;
  fallbackModel?: string | undefined;
  continues?: boolean;
  servers?: number;
  fits?: Fit;
  maxAttempts?: number;
  timeouts?: Partial<EffectiveTimeouts>;
}

function toFacts(circumstances: Circumstances = {}): TurnFacts {
  const { log = [started(1)], engine = "primary", fallbackModel, continues = true } = circumstances;
  const { maxAttempts = 3, timeouts, servers = 3 } = circumstances;
  const transcript = new RunTranscript();
  for (const [i, draft] of log.entries()) transcript.apply({ seq: i + 1, ...draft } as KnownEvent);
  const policy = {
    ...DEFAULT_POLICY,
    max_attempts: maxAttempts,
    timeouts: { ...DEFAULT_POLICY.timeouts, ...timeouts },
  };
  const context = { policy, fallbackModel, canContinue: () => continues, servers: () => servers };
  return { context, transcript, engine, usage, answerFits: () => circumstances.fits };
}

const failedWith = (code: ErrorCode): EngineOutcome & { kind: "failed" } => ({
  kind: "failed",
  error: new RepriseError(code, "m"),
  counted: 0,
});
const brokenOff = (retry: EngineRetry, counted = 0): EngineOutcome & { kind: "failed" } => ({
  kind: "failed",
  error: new EngineError("engine_failed", "m", { retry }),
  counted,
});
const timedOut = (name: "first_token" | "between_tokens" | "total") =>
  ({ kind: "timeout", name, counted: 0 }) as const;
const AGAIN = { kind: "again", reason: "timeout" };
const FAILED_AGAIN = { kind: "again", reason: "engine_failed" };
const FALLBACK = { kind: "again", reason: "fallback" };
const failure = (code: ErrorCode) => ({
  kind: "end",
  draft: { type: "generation.failed", error: { code }, usage },
});

describe("an engine that has finished", () => {
  const finished = {
    kind: "finished",
    reason: "length",
    usage: undefined,
    reasoned: 0,
    calls: [],
    annotations: [],
    counted: 0,
  } as const;

  test("is the generation's end, with all that it has used", () => {
    expect(afterTurn(finished, toFacts())).toEqual({
      kind: "end",
      draft: { type: "generation.completed", finish_reason: "length", usage },
    });
  });

  test.each([
    ["stop", false, "schema_mismatch"],
    ["stop", undefined, "stop"],
    ["stop", true, "stop"],
    ["length", false, "length"],
    ["content_filter", false, "content_filter"],
  ] as const)("by %s, with an answer of which it is %s that it fits, ends by %s", (reason, fits, told) => {
    expect(afterTurn({ ...finished, reason }, toFacts({ fits }))).toEqual({
      kind: "end",
      draft: { type: "generation.completed", finish_reason: told, usage },
    });
  });

  test("without a reason of the engine's says so", () => {
    expect(afterTurn({ ...finished, reason: "stop", isReasonMissing: true }, toFacts())).toMatchObject({
      draft: { finish_reason: "stop", finish_reason_missing: true },
    });
  });

  test("with tools to be called is not", () => {
    const calls = [{ type: "tool_call", callId: "a", name: "look_up", arguments: "{}" }] as const;
    expect(afterTurn({ ...finished, reason: "tool_calls", calls }, toFacts())).toEqual({ kind: "proceed" });
  });
});

describe("an engine that has failed", () => {
  const fallbackModel = "small";

  test.each<ErrorCode>(["engine_unavailable", "engine_rejected", "engine_failed"])(
    "before it has said anything makes way for the fallback: %s",
    (code) => {
      expect(afterTurn(failedWith(code), toFacts({ fallbackModel }))).toEqual(FALLBACK);
      expect(afterTurn(failedWith(code), toFacts())).toMatchObject(failure(code));
    },
  );

  test.each<ErrorCode>(["broker_unavailable", "archive_unavailable"])(
    "to store what it made beside words is asked again, and makes way for no other: %s",
    (code) => {
      expect(afterTurn(failedWith(code), toFacts({ fallbackModel }))).toEqual(FAILED_AGAIN);
      expect(afterTurn(failedWith(code), toFacts({ maxAttempts: 1 }))).toMatchObject(failure(code));
    },
  );

  test.each<ErrorCode>(["invalid_request", "internal"])(
    "for another reason than itself does not: %s",
    (code) => {
      expect(afterTurn(failedWith(code), toFacts({ fallbackModel }))).toMatchObject(failure(code));
    },
  );

  test.each([
    ["text", delta],
    ["reasoning", reasoning],
  ])("after it has shown %s ends the generation: another model would not go on like it", (_, shown) => {
    const facts = toFacts({ fallbackModel, log: [started(1), shown] });
    expect(afterTurn(failedWith("engine_failed"), facts)).toMatchObject(failure("engine_failed"));
  });

  test("after a tool's answer, with nothing said since, makes way too", () => {
    const facts = toFacts({ fallbackModel, log: [started(1), delta, call, result] });
    expect(afterTurn(failedWith("engine_failed"), facts)).toEqual(FALLBACK);
  });

  test("in mid-stream continues after what it has said, with an attempt that is left", () => {
    const facts = toFacts({ log: [started(1), delta] });
    expect(afterTurn(brokenOff("broken", 1), facts)).toEqual(FAILED_AGAIN);
    expect(afterTurn(brokenOff("silent", 1), facts)).toEqual(FAILED_AGAIN);
  });

  test("before it has said anything is asked again", () => {
    expect(afterTurn(brokenOff("broken"), toFacts({ servers: 1 }))).toEqual(FAILED_AGAIN);
  });

  test.each<[string, Circumstances]>([
    ["no attempt is left", { maxAttempts: 1 }],
    [
      "attempts were used up by failures too",
      { maxAttempts: 2, log: [started(1), started(2, "engine_failed"), delta] },
    ],
    ["the engine can't continue", { continues: false }],
    ["the policy wants no further try", { timeouts: { between_tokens: { after_ms: 5, answer: "fail" } } }],
  ])("in mid-stream ends the generation where %s", (_, circumstances) => {
    const facts = toFacts({ log: [started(1), delta], ...circumstances });
    expect(afterTurn(brokenOff("broken", 1), facts)).toMatchObject(failure("engine_failed"));
  });

  test.each(["never", "busy"] as const)(
    "in a way that asking again can't change ends the generation: %s",
    (retry) => {
      expect(afterTurn(brokenOff(retry), toFacts())).toMatchObject(failure("engine_failed"));
      expect(afterTurn(brokenOff(retry), toFacts({ fallbackModel }))).toEqual(FALLBACK);
    },
  );

  test("in mid-stream, with a policy that wants what there is, ends it in order, but not as if it were slow", () => {
    const timeouts = { between_tokens: { after_ms: 5, answer: "complete" } } as const;
    const facts = toFacts({ timeouts, log: [started(1), delta] });
    expect(afterTurn(brokenOff("broken", 1), facts)).toMatchObject({
      draft: { type: "generation.completed", finish_reason: "other" },
    });
  });

  test("by its own silence is asked again only where there is another server", () => {
    expect(afterTurn(brokenOff("silent"), toFacts({ servers: 1 }))).toMatchObject(failure("engine_failed"));
    expect(afterTurn(brokenOff("silent"), toFacts({ servers: 2 }))).toEqual(FAILED_AGAIN);
  });

  test("and is the fallback itself ends the generation, however many attempts are left", () => {
    const facts = toFacts({ fallbackModel, engine: "fallback", log: [started(1), started(2, "fallback")] });
    expect(afterTurn(failedWith("engine_failed"), facts)).toMatchObject(failure("engine_failed"));
  });
});

describe("a timeout", () => {
  test("before the first token is not tried again at a server that is still at it", () => {
    expect(afterTurn(timedOut("first_token"), toFacts({ servers: 1 }))).toMatchObject(
      failure("first_token_timeout"),
    );
    const asked = { servers: 2, log: [started(1), started(2, "timeout")] };
    expect(afterTurn(timedOut("first_token"), toFacts(asked))).toMatchObject(failure("first_token_timeout"));
    expect(afterTurn(timedOut("first_token"), toFacts({ servers: 1, fallbackModel: "small" }))).toEqual(
      FALLBACK,
    );
  });

  test("between tokens is tried again at the same server, which is free once its request is closed", () => {
    const facts = toFacts({ servers: 1, log: [started(1), delta] });
    expect(afterTurn(timedOut("between_tokens"), facts)).toEqual(AGAIN);
  });

  test("before the first token is tried again, by the fallback where there is one", () => {
    expect(afterTurn(timedOut("first_token"), toFacts())).toEqual(AGAIN);
    expect(afterTurn(timedOut("first_token"), toFacts({ fallbackModel: "small" }))).toEqual(FALLBACK);
  });

  test("is followed by the fallback for any policy, and with the last attempt", () => {
    const timeouts = { first_token: { after_ms: 1, answer: "fail" } } as const;
    const facts = toFacts({ fallbackModel: "small", timeouts, maxAttempts: 1 });
    expect(afterTurn(timedOut("first_token"), facts)).toEqual(FALLBACK);
  });

  test("between tokens is tried again only where the engine continues after them, never by the fallback", () => {
    const log = [started(1), delta];
    expect(afterTurn(timedOut("between_tokens"), toFacts({ log, fallbackModel: "small" }))).toEqual(AGAIN);
    expect(afterTurn(timedOut("between_tokens"), toFacts({ log, continues: false }))).toMatchObject(
      failure("between_tokens_timeout"),
    );
  });

  test("between tokens of reasoning alone is final: no engine continues after that", () => {
    const facts = toFacts({ log: [started(1), reasoning] });
    expect(afterTurn(timedOut("between_tokens"), facts)).toMatchObject(failure("between_tokens_timeout"));
  });

  test("is final with the last attempt, and handovers and fallbacks are none", () => {
    const used = toFacts({ maxAttempts: 2, log: [started(1), started(2, "timeout")] });
    expect(afterTurn(timedOut("first_token"), used)).toMatchObject(failure("first_token_timeout"));
    const left = toFacts({
      maxAttempts: 2,
      log: [started(1), started(2, "handover"), started(3, "fallback")],
    });
    expect(afterTurn(timedOut("first_token"), left)).toEqual(AGAIN);
  });

  test("whose answer is complete ends the generation in order", () => {
    const timeouts = { between_tokens: { after_ms: 5, answer: "complete" } } as const;
    expect(afterTurn(timedOut("between_tokens"), toFacts({ timeouts, log: [started(1), delta] }))).toEqual({
      kind: "end",
      draft: { type: "generation.completed", finish_reason: "timeout", usage },
    });
  });

  test.each(["total", "tool_result", "queue"] as const)("of the %s kind is never tried again", (name) => {
    expect(afterTimeout(name, toFacts())).toMatchObject(failure(`${name}_timeout`));
    const timeouts = { [name]: { after_ms: 5, answer: "complete" } };
    expect(afterTimeout(name, toFacts({ timeouts }))).toMatchObject({
      draft: { type: "generation.completed", finish_reason: "timeout" },
    });
  });
});
