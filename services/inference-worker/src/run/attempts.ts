import { pause } from "@reprise/async";
import type { Job } from "@reprise/log";
import type { RequestedEvent, WorkerId } from "@reprise/protocol";
import { createNonce } from "./attempt-nonce.ts";
import {
  afterTimeout,
  afterTurn,
  type EndDraft,
  mayFallBack,
  type NextStep,
  type Proceed,
} from "../domain/after-turn.ts";
import { retryDelayMs } from "../domain/retry-delay.ts";
import {
  type AttemptPlan,
  type EngineChoice,
  type PlanContext,
  planNext,
  toTurn,
} from "../domain/plan-attempt.ts";
import type { RunTranscript } from "../domain/run-transcript.ts";
import { toCallDrafts } from "../domain/tool-calls.ts";
import { UsageTally } from "../domain/usage.ts";
import type { EngineReport } from "./engine-report.ts";
import type { Engine } from "../engines/engine.ts";
import type { ServedModel } from "../model-queues.ts";
import { type Pace, tokensOf } from "./pace.ts";
import { runEngine } from "./run-engine.ts";
import type { RunLog } from "./run-log.ts";
import { awaitToolResults } from "./await-tool-results.ts";

/** What one worker's attempts at a generation work with. */
export interface AttemptsContext {
  readonly worker: WorkerId;
  readonly job: Job;
  readonly requested: RequestedEvent;
  readonly model: ServedModel;
  readonly plans: PlanContext;
  readonly log: RunLog;
  readonly pace: Pace | undefined;
  /** Aborted when this worker is fenced, or is to stop. */
  readonly stop: AbortSignal;
  readonly onEngineReport: (report: EngineReport) => void;
}

/** An engine that is this many characters ahead of the log has to wait. */
const MAX_BACKLOG = 256 * 1_024;

/**
 * One worker's attempts at a generation, one behind the other: each is begun in the log, takes its turns, and is followed by another
 * one where the policy wants a further try or the model names a fallback.
 * @returns the end to append; undefined when something has stopped the work before
 */
export async function runAttempts(
  context: AttemptsContext,
  first: AttemptPlan,
): Promise<EndDraft | undefined> {
  const { log, plans, stop } = context;
  const tally = new UsageTally();
  let failures = 0;
  for (let plan = first; ;) {
    if (!(await begin(context, plan))) return undefined;
    const next = await runTurns(context, plan.engine, tally);
    if (next.kind === "stopped") return undefined;
    if (next.kind === "end") return next.draft;
    log.append({ type: "attempt.ended", attempt: plan.attempt, reason: next.reason });
    const transcript = await readSettled(context);
    if (!transcript) return undefined;
    if (next.reason === "engine_failed") await pause(retryDelayMs(failures++, Math.random()), stop);
    if (stop.aborted) return undefined;
    plan = planNext(transcript, plans, next.reason);
  }
}

/** The engine is asked only once the attempt is in the log: until then the generation may be another worker's, or over. */
async function begin(context: AttemptsContext, plan: AttemptPlan): Promise<boolean> {
  const { log, worker, requested, model, stop } = context;
  const inputTokens = engineOf(model, plan.engine).countInput?.(requested.request);
  log.append({
    type: "generation.started",
    attempt: plan.attempt,
    worker,
    model: plan.engine === "fallback" ? model.fallback!.model : requested.request.model,
    nonce: createNonce(),
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(plan.reason !== undefined && { reason: plan.reason }),
  });
  if (plan.rewindTo !== undefined) {
    log.append({ type: "output.rewind", to_seq: plan.rewindTo, reason: plan.reason ?? "worker_lost" });
  }
  return (await log.settled()).kind === "open" && !stop.aborted;
}

/** One attempt: turns of the engine, and waits for the tools that they ask for, until there is something else to do. */
async function runTurns(
  context: AttemptsContext,
  engine: EngineChoice,
  tally: UsageTally,
): Promise<Exclude<NextStep, Proceed>> {
  for (;;) {
    const transcript = await readSettled(context);
    if (!transcript) return { kind: "stopped" };
    const next =
      transcript.pendingCalls.length > 0
        ? await awaitTools(context, engine, tally)
        : await takeTurn(context, engine, { transcript, tally });
    if (next.kind !== "proceed") return next;
  }
}

/** A run of the engine, and what follows from how it ended. */
async function takeTurn(
  context: AttemptsContext,
  engine: EngineChoice,
  { transcript, tally }: { transcript: RunTranscript; tally: UsageTally },
): Promise<NextStep> {
  const { requested, model, plans, log, pace, stop, job, onEngineReport } = context;
  const { attempt, servedModel } = transcript;
  const about = { generation: job.ref.generation, model: servedModel ?? job.model, attempt };
  const outcome = await runEngine({
    engine: engineOf(model, engine),
    request: requested.request,
    turn: toTurn(transcript),
    timeouts: requested.policy.timeouts,
    totalAtMs: totalAtMs(requested),
    sink: {
      append(draft) {
        pace?.said(tokensOf(draft));
        log.append(draft);
      },
      hold: (signal) => (log.backlog > MAX_BACKLOG ? log.settled() : pace?.hold(signal)),
    },
    signal: stop,
    waitsWhileBusy: !mayFallBack({ context: plans, transcript, engine }),
    onLeftOut: (part) => onEngineReport({ ...about, leftOut: part }),
  });
  if (outcome.kind === "failed") onEngineReport({ ...about, error: outcome.error });
  if (outcome.kind === "finished") {
    const isModerated = requested.policy.moderation !== undefined;
    for (const draft of toCallDrafts(outcome.calls, transcript, { isModerated })) log.append(draft);
  }
  // What the engine has said to its end is not given up because the worker is to stop: nothing but the end is left to append.
  const isWhole = outcome.kind === "finished" && outcome.calls.length === 0;
  const after = isWhole ? await readOpen(log) : await readSettled(context);
  if (!after || outcome.kind === "stopped") return { kind: "stopped" };
  if (outcome.kind === "finished") tally.add(outcome.counted, outcome.usage);
  const usage = tally.total(after.usage);
  return afterTurn(outcome, { context: plans, transcript: after, engine, usage });
}

/** Another job has the slot meanwhile: tools, and the people behind them, take their time. */
async function awaitTools(
  context: AttemptsContext,
  engine: EngineChoice,
  tally: UsageTally,
): Promise<NextStep> {
  const { requested, plans, log, job, stop } = context;
  const { timeouts, moderation } = requested.policy;
  const result = await awaitToolResults({
    log,
    job,
    stop,
    afterMs: timeouts.tool_result.after_ms,
    // Behind text that a person is asked about, a gate shows nothing.
    isHeld: ({ reviews }) => moderation?.mode === "gate" && reviews.size > 0,
    totalAtMs: totalAtMs(requested),
  });
  if (result === "answered") return { kind: "proceed" };
  const transcript = result === "stopped" ? undefined : await readSettled(context);
  if (!transcript || result === "stopped") return { kind: "stopped" };
  const usage = tally.total(transcript.usage);
  return afterTimeout(result, { context: plans, transcript, engine, usage });
}

/** What the log says once everything that was appended is in it; undefined when the work is to stop. */
async function readSettled({ log, stop }: AttemptsContext): Promise<RunTranscript | undefined> {
  const transcript = await readOpen(log);
  return stop.aborted ? undefined : transcript;
}

/** The same; undefined when the log is no longer this worker's to write. */
async function readOpen(log: RunLog): Promise<RunTranscript | undefined> {
  return (await log.settled()).kind === "open" ? log.transcript() : undefined;
}

function engineOf({ engine, fallback }: ServedModel, choice: EngineChoice): Engine {
  return choice === "fallback" && fallback ? fallback.engine : engine;
}

/** Clocks of the nodes that create and of those that run are taken to agree within what such a timeout leaves open. */
function totalAtMs({ created_at: createdAt, policy }: RequestedEvent): number {
  return Date.parse(createdAt) + policy.timeouts.total.after_ms;
}
