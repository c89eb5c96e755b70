import {
  type EventDraft,
  failedDraft,
  type FinishReason,
  RepriseError,
  timeoutDraft,
  type TimeoutName,
  type Usage,
} from "@reprise/protocol";
import type { AnnotationEvent, ToolCallEvent } from "../engines/engine.ts";
import { EngineError } from "../engines/engine-error.ts";
import { mayRetryFirstToken, mayRetry, type PlanContext } from "./plan-attempt.ts";
import type { EngineChoice } from "../model-queues.ts";
import type { Fit } from "../schema/fits-schema.ts";
import type { RunTranscript } from "./run-transcript.ts";

/** The timeouts that can strike while an engine runs. */
export type TurnTimeout = Extract<TimeoutName, "first_token" | "between_tokens" | "total">;

/** The end of a run of an engine, and the number of tokens that the engine has produced, by our count of its chunks. */
export type EngineOutcome = { readonly counted: number } & (
  | {
      readonly kind: "finished";
      /** The number of tokens that were reasoning. */
      readonly reasoned: number;
      readonly reason: FinishReason;
      /** True if the engine has given none. */
      readonly isReasonMissing?: boolean;
      readonly usage: Usage | undefined;
      readonly calls: readonly ToolCallEvent[];
      readonly annotations: readonly AnnotationEvent[];
    }
  | { readonly kind: "failed"; readonly error: RepriseError }
  | { readonly kind: "timeout"; readonly name: TurnTimeout }
  /** The tenant's budget is used up. */
  | { readonly kind: "spent"; readonly error: RepriseError }
  /** The broker did not answer for so long that another worker may try the request. The engine has not received a whole request. */
  | { readonly kind: "unprepared"; readonly error: RepriseError }
  /** A rule of moderation has stopped the input. */
  | { readonly kind: "halted"; readonly rule: string; readonly category: string }
  /** The signal stopped it. */
  | { readonly kind: "stopped" }
);

/** The step after a turn of an engine, or after a wait for tools. */
export type NextStep =
  | { readonly kind: "end"; readonly draft: EndDraft }
  /** A further attempt in the same worker. */
  | { readonly kind: "again"; readonly reason: "timeout" | "fallback" | "engine_failed" }
  | Proceed
  /** This worker is fenced, or stops. */
  | { readonly kind: "stopped" };

/** The attempt continues: with the tools that were asked for, or with their answers. */
export interface Proceed {
  readonly kind: "proceed";
}

export type EndDraft = Extract<EventDraft, { type: "generation.completed" | "generation.failed" }>;

export interface TurnFacts {
  readonly context: PlanContext;
  /** Folded from the log, the turn's own events included. */
  readonly transcript: RunTranscript;
  readonly engine: EngineChoice;
  /** The usage of the generation so far. */
  readonly usage: Usage;
  /** Compares the turn's text with the form of the request. Called if the engine says that the text is whole. */
  readonly answerFits: () => Fit;
}

/** The end of a generation that a reader has interrupted, unless its input may begin another turn. */
export function interruptedDraft({ usage }: Pick<RunTranscript, "usage">): EndDraft {
  return { type: "generation.completed", finish_reason: "interrupted", usage };
}

/** @param outcome of a turn that was not stopped */
export function afterTurn(
  outcome: Exclude<EngineOutcome, { kind: "stopped" | "spent" | "unprepared" | "halted" }>,
  facts: TurnFacts,
): NextStep {
  const { usage } = facts;
  switch (outcome.kind) {
    case "finished":
      if (outcome.calls.length > 0) return { kind: "proceed" };
      return {
        kind: "end",
        draft: {
          type: "generation.completed",
          finish_reason: toFinishReason(outcome.reason, facts),
          ...(outcome.isReasonMissing && { finish_reason_missing: true }),
          usage,
        },
      };
    case "failed":
      if (mayFallBack(facts) && isEngineError(outcome.error)) return { kind: "again", reason: "fallback" };
      return afterFailure(outcome, facts);
    case "timeout":
      if (outcome.name === "first_token" && mayFallBack(facts)) return { kind: "again", reason: "fallback" };
      return afterTimeout(outcome.name, facts);
  }
}

/** Returns `schema_mismatch` only for an answer that is whole: one that was cut keeps the reason of its cut. */
function toFinishReason(reason: FinishReason, { answerFits }: TurnFacts): FinishReason {
  return reason === "stop" && answerFits() === false ? "schema_mismatch" : reason;
}

/**
 * Treats an engine that breaks off like one that falls silent: by the answer of the timeout that it would have met, at once. The same holds for
 * images or sound that could not be stored. An error that a retry can't change ends the generation.
 */
function afterFailure(
  { error, counted }: Extract<EngineOutcome, { kind: "failed" }>,
  { context, transcript, engine, usage }: TurnFacts,
): NextStep {
  const end: NextStep = { kind: "end", draft: failedDraft(error, usage) };
  const retry = error instanceof EngineError ? error.retry : isStoreAway(error) ? "broken" : "never";
  if (retry === "never" || retry === "busy") return end;
  const { first_token: first, between_tokens: between } = context.policy.timeouts;
  const { answer } = counted > 0 ? between : first;
  const helps = counted > 0 || retry === "broken" || mayRetryFirstToken(transcript, context, engine);
  if (answer === "retry" && helps && mayRetry(transcript, context, engine)) {
    return { kind: "again", reason: "engine_failed" };
  }
  if (answer === "complete" && counted > 0) {
    return { kind: "end", draft: { type: "generation.completed", finish_reason: "other", usage } };
  }
  return end;
}

export function afterTimeout(
  name: TimeoutName,
  { context, transcript, engine, usage }: Omit<TurnFacts, "answerFits">,
): NextStep {
  const timeout = context.policy.timeouts[name];
  const helps = name !== "first_token" || mayRetryFirstToken(transcript, context, engine);
  if (timeout.answer === "retry" && helps && mayRetry(transcript, context, engine)) {
    return { kind: "again", reason: "timeout" };
  }
  return { kind: "end", draft: timeoutDraft(name, timeout, usage) };
}

/** Returns true if another model may take the turn, because readers have seen nothing of it. */
export function mayFallBack({
  context,
  transcript,
  engine,
}: Omit<TurnFacts, "usage" | "answerFits">): boolean {
  return engine === "primary" && context.fallbackModel !== undefined && !transcript.turnShown;
}

/** Returns true for a failure of the engine: an invalid request is invalid for any engine. */
function isEngineError({ code }: RepriseError): boolean {
  return code === "engine_unavailable" || code === "engine_rejected" || code === "engine_failed";
}

/** No engine's failure: the broker, or the archive, does not give or take what a turn needs. It may in a moment, or another worker's. */
export function isStoreAway(error: unknown): error is RepriseError {
  return (
    error instanceof RepriseError &&
    (error.code === "broker_unavailable" || error.code === "archive_unavailable")
  );
}
