import { pause } from "@reprise/async";
import {
  type EndDraft,
  interruptedDraft,
  type NextStep,
  type Proceed,
  isStoreAway,
} from "../domain/after-turn.ts";
import { type AttemptPlan, planNext, toPlanContext } from "../domain/plan-attempt.ts";
import type { RunTranscript } from "../domain/run-transcript.ts";
import { retryDelayMs } from "../domain/retry-delay.ts";
import { type EngineChoice, engineOf } from "../model-queues.ts";
import { createNonce } from "./log/run-log.ts";
import type { AttemptResult } from "./metrics/worker-metrics.ts";
import { awaitToolResults } from "./turn/await-tool-results.ts";
import { readSettled, type Run } from "./open-run.ts";
import { takeTurn } from "./turn/take-turn.ts";

/**
 * Runs the second step: one worker's attempts at a generation, one after the other. Each is begun in the log, takes its turns, and is followed
 * by another one if the policy allows a further try or the model names a fallback.
 * @returns the end to append; undefined if the work was stopped before
 */
export async function runAttempts(run: Run, first: AttemptPlan): Promise<EndDraft | undefined> {
  const { log, stop, model, policy, request } = run;
  let failures = 0;
  for (let plan = first; ;) {
    if (!(await begin(run, plan))) return undefined;
    const next = await takeTurns(run, plan.engine).catch((thrown: unknown) => giveUp(run, plan, thrown));
    run.context.metrics.attemptEnded(servedModelOf(run, plan), resultOf(next));
    if (next.kind === "stopped") return undefined;
    if (next.kind === "end") return next.draft;
    log.appender.append({ type: "attempt.ended", attempt: plan.attempt, reason: next.reason });
    run.route.failed();
    const transcript = await readSettled(run);
    if (!transcript) return undefined;
    if (next.reason === "engine_failed") await pause(retryDelayMs(failures++, Math.random()), stop);
    if (stop.aborted || givesWay(run)) return undefined;
    const context = toPlanContext({ request: () => request.get(), policy }, model);
    plan = planNext(transcript, context, next.reason);
  }
}

/** The engine is asked only once the attempt is in the log: until then the generation may be another worker's, or over. */
async function begin(run: Run, plan: AttemptPlan): Promise<boolean> {
  const { context, model, log, stop, request, attemptTiming } = run;
  const { appender } = log;
  const engine = engineOf(model, plan.engine);
  const inputTokens = run.inputStream ? undefined : engine.countInput?.(request.get());
  appender.append({
    type: "generation.started",
    attempt: plan.attempt,
    worker: context.worker,
    model: servedModelOf(run, plan),
    engine: engine.name,
    nonce: createNonce(),
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(plan.reason !== undefined && { reason: plan.reason }),
  });
  if (plan.rewindTo !== undefined) {
    appender.append({ type: "output.rewind", to_seq: plan.rewindTo, reason: plan.reason ?? "worker_lost" });
  }
  const isOpen = (await appender.settled()).kind === "open";
  attemptTiming.begun({ attempt: plan.attempt, model: servedModelOf(run, plan) });
  return isOpen && !stop.aborted;
}

function servedModelOf({ job, model }: Run, { engine }: AttemptPlan): string {
  return (engine === "fallback" ? model.fallback?.model : undefined) ?? job.model;
}

function resultOf(next: Exclude<NextStep, Proceed>): AttemptResult {
  switch (next.kind) {
    case "stopped":
      return "stopped";
    case "again":
      return next.reason;
    case "end":
      return next.draft.type === "generation.completed" ? "completed" : "failed";
  }
}

/** One attempt: turns of the engine, and waits for the tools that they ask for, until there is something else to do. */
async function takeTurns(run: Run, engine: EngineChoice): Promise<Exclude<NextStep, Proceed>> {
  for (;;) {
    const interrupted = run.log.beginTurn();
    const transcript = await readSettled(run);
    if (!transcript) return { kind: "stopped" };
    if (transcript.interrupt && !run.inputStream) return { kind: "end", draft: interruptedDraft(transcript) };
    const isWaiting = transcript.pendingCalls.length > 0;
    if (isWaiting && run.endsOnCalls) return { kind: "end", draft: endOnCalls(transcript) };
    if (!isWaiting && givesWay(run)) return { kind: "stopped" };
    const next = isWaiting
      ? await awaitToolResults(run, engine)
      : await takeTurn(run, engine, { transcript, interrupted });
    if (next.kind !== "proceed") return next;
  }
}

/**
 * Where its log can't be read an attempt goes no further, and the job comes back: the next worker is to know that this one was not lost.
 * @throws what was thrown
 */
async function giveUp({ log }: Run, { attempt }: AttemptPlan, thrown: unknown): Promise<never> {
  if (isStoreAway(thrown)) {
    log.appender.append({ type: "attempt.ended", attempt, reason: "handover" });
    await log.appender.settled();
  }
  throw thrown;
}

/** A client that answers with a new request has the calls, and nothing waits. */
function endOnCalls({ usage }: RunTranscript): EndDraft {
  return { type: "generation.completed", finish_reason: "tool_calls", usage };
}

/** A batch generation whose slot another job has asks no engine again: it is handed over. */
function givesWay(run: Run): boolean {
  const isLost = run.job.hasLostSlot();
  if (isLost) run.yieldSlot();
  return isLost;
}
