import {
  type EffectivePolicy,
  type GenerationRequest,
  RepriseError,
  type TakeoverReason,
  type TurnItem,
  type Seq,
} from "@reprise/protocol";
import { NO_PREFIX, type Prefix, type Seam } from "../engines/engine.ts";
import { type EngineChoice, engineOf, type ServedModel } from "../model-queues.ts";
import type { RunTranscript } from "./run-transcript.ts";

/** An attempt that is to begin. */
export interface AttemptPlan {
  readonly kind: "begin";
  readonly attempt: number;
  /** Undefined for the first. */
  readonly reason: TakeoverReason | undefined;
  readonly engine: EngineChoice;
  /** The events after this one are withdrawn first, because the engine can't continue from them. */
  readonly rewindTo: Seq | undefined;
}

/** The plan of a worker for a generation, made from its log. */
export type Plan =
  /** It has ended; only the job is left. */
  | { readonly kind: "done" }
  /** Moderation has stopped it: only its end is missing. */
  | { readonly kind: "halt" }
  /** A reader has interrupted it, and no further input can come: only its end is missing. */
  | { readonly kind: "interrupted" }
  /** End it: it can't be run (any more). */
  | { readonly kind: "fail"; readonly error: RepriseError }
  | AttemptPlan;

export interface PlanContext {
  readonly policy: EffectivePolicy;
  /** The model that takes over if the requested one fails; undefined if the request has no fallback. */
  readonly fallbackModel: string | undefined;
  /** True if the engine can continue a text of this request. */
  readonly canContinue: (engine: EngineChoice, seam: Seam) => boolean;
  /** The number of servers of an engine. Each request may reach a different one. */
  readonly servers: (engine: EngineChoice) => number;
}

export function toPlanContext(
  { request, policy }: { request: () => GenerationRequest; policy: EffectivePolicy },
  model: ServedModel,
): PlanContext {
  return {
    policy,
    fallbackModel: model.fallback?.model,
    canContinue: (choice, seam) => engineOf(model, choice).canContinue(request(), seam),
    servers: (choice) => engineOf(model, choice).servers ?? 1,
  };
}

/** Plans the work of a worker that has taken a job: start the first attempt, take over, or end the generation because nothing is left to try. */
export function planAttempt(transcript: RunTranscript, context: PlanContext): Plan {
  if (transcript.ended) return { kind: "done" };
  if (transcript.halted) return { kind: "halt" };
  if (transcript.attempt === 0) {
    return { kind: "begin", attempt: 1, reason: undefined, engine: "primary", rewindTo: undefined };
  }
  const reason = transcript.attemptEnd ?? "worker_lost";
  const { max_attempts: most, on_worker_loss: onLoss } = context.policy;
  if (reason === "worker_lost" && (onLoss === "fail" || transcript.countedAttempts >= most)) {
    return { kind: "fail", error: workerLost(transcript.countedAttempts) };
  }
  return planNext(transcript, context, reason);
}

/** The attempt that follows the last one for a reason that allows it. A takeover stays with the engine that has spoken. */
export function planNext(
  transcript: RunTranscript,
  { policy, fallbackModel, canContinue }: PlanContext,
  reason: TakeoverReason,
): AttemptPlan {
  const usesFallback = reason === "fallback" || transcript.servedModel === fallbackModel;
  const engine = fallbackModel !== undefined && usesFallback ? "fallback" : "primary";
  const mayContinue = reason !== "worker_lost" || policy.on_worker_loss !== "restart";
  return {
    kind: "begin",
    attempt: transcript.attempt + 1,
    reason,
    engine,
    rewindTo: goesOn(transcript, (seam) => mayContinue && canContinue(engine, seam))
      ? undefined
      : transcript.turnSeq,
  };
}

/** True if another attempt may follow a timeout: the policy has one left, and no text that readers have seen has to be withdrawn. */
export function mayRetry(
  transcript: RunTranscript,
  { policy, canContinue }: PlanContext,
  engine: EngineChoice,
): boolean {
  return (
    transcript.countedAttempts < policy.max_attempts &&
    goesOn(transcript, (seam) => canContinue(engine, seam))
  );
}

/**
 * True if it helps to send an engine the same prompt again after its first token is late. A server that has the prompt is still reading it: some
 * servers notice a closed request only after they have read the prompt, so the same prompt would queue after itself. Another
 * server may be faster, so each gets the prompt once.
 */
export function mayRetryFirstToken(
  { countedAttempts }: RunTranscript,
  { servers }: PlanContext,
  engine: EngineChoice,
): boolean {
  return countedAttempts < servers(engine);
}

/**
 * True if an engine can continue from the log: nothing was shown since the last tool's answer, or the turn waits for tools, or the engine can
 * continue the shown text. No engine can continue reasoning alone, which readers have seen too.
 */
function goesOn(transcript: RunTranscript, canContinue: (seam: Seam) => boolean): boolean {
  if (!transcript.turnShown || transcript.pendingCalls.length > 0) return true;
  const { prefix } = toTurn(transcript);
  const { turnUnfit: reasoned, turnCounted: counted } = transcript;
  return prefix.text !== "" && canContinue({ prefix, reasoned, counted });
}

export interface Turn {
  readonly turns: readonly TurnItem[];
  readonly prefix: Prefix;
  readonly reasoningTokens: number;
}

/** Returns the earlier output for the engine: the turns up to the last tool's answer, and the text after it. */
export function toTurn({ output, turns, reasoningTokens }: RunTranscript): Turn {
  const [last] = output.slice(endOfAnswers(output));
  return {
    turns: turns.slice(0, endOfAnswers(turns)),
    prefix: last?.type === "text" ? { text: last.text, tokens: last.tokens } : NO_PREFIX,
    reasoningTokens,
  };
}

function endOfAnswers(items: readonly TurnItem[]): number {
  return items.findLastIndex(({ type }) => type === "tool_result") + 1;
}

function workerLost(attempts: number): RepriseError {
  return new RepriseError(
    "worker_lost",
    `The worker of attempt ${attempts} was lost, and the policy allows no further one.`,
  );
}
