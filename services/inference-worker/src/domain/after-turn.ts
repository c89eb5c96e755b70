import {
  type EventDraft,
  type RepriseError,
  timeoutError,
  type TimeoutName,
  type Transcript,
  type Usage,
} from "@reprise/protocol";
import type { EngineOutcome } from "../run-engine.ts";
import { type EngineChoice, mayRetry, type PlanContext } from "./plan-attempt.ts";

/** What follows a turn of an engine, or a wait for tools. */
export type Next =
  | { readonly kind: "end"; readonly draft: EndDraft }
  /** A further attempt in the same worker. */
  | { readonly kind: "again"; readonly reason: "timeout" | "fallback" }
  | Proceed
  /** Somebody else has the say, or the worker is to stop. */
  | { readonly kind: "stopped" };

/** The attempt goes on: with the tools that were asked for, or with their answers. */
export interface Proceed {
  readonly kind: "proceed";
}

export type EndDraft = Extract<EventDraft, { type: "generation.completed" | "generation.failed" }>;

export interface TurnFacts {
  readonly context: PlanContext;
  /** What the log says, the turn's own events included. */
  readonly transcript: Transcript;
  readonly engine: EngineChoice;
  /** What the generation has used so far. */
  readonly usage: Usage;
}

/** @param outcome of a turn that nobody has stopped */
export function afterTurn(outcome: Exclude<EngineOutcome, { kind: "stopped" }>, facts: TurnFacts): Next {
  const { usage } = facts;
  switch (outcome.kind) {
    case "finished":
      if (outcome.calls.length > 0) return { kind: "proceed" };
      return { kind: "end", draft: { type: "generation.completed", finish_reason: outcome.reason, usage } };
    case "failed":
      if (mayFallBack(facts) && isEngineError(outcome.error)) return { kind: "again", reason: "fallback" };
      return { kind: "end", draft: failed(outcome.error, usage) };
    case "timeout":
      if (outcome.name === "first_token" && mayFallBack(facts)) return { kind: "again", reason: "fallback" };
      return afterTimeout(outcome.name, facts);
  }
}

export function afterTimeout(name: TimeoutName, { context, transcript, engine, usage }: TurnFacts): Next {
  const { after_ms: afterMs, answer } = context.policy.timeouts[name];
  if (answer === "retry" && mayRetry(transcript, context, engine))
    return { kind: "again", reason: "timeout" };
  if (answer === "complete") {
    return { kind: "end", draft: { type: "generation.completed", finish_reason: "timeout", usage } };
  }
  return { kind: "end", draft: failed(timeoutError(name, afterMs), usage) };
}

export function failed({ code, message, retryable }: RepriseError, usage: Usage): EndDraft {
  return { type: "generation.failed", error: { code, message, retryable }, usage };
}

/** Readers have seen nothing of this turn, so another model may say it. */
function mayFallBack({ context, transcript, engine }: TurnFacts): boolean {
  return engine === "primary" && context.fallbackModel !== undefined && !transcript.turnShown;
}

/** Whether it is the engine that failed: a request that is wrong is wrong for any. */
function isEngineError({ code }: RepriseError): boolean {
  return code === "engine_unavailable" || code === "engine_rejected" || code === "engine_failed";
}
