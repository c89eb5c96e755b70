import { afterTurn, mayFallBack, type NextStep } from "../../domain/after-turn.ts";
import { type PlanContext, toPlanContext, toTurn } from "../../domain/plan-attempt.ts";
import type { RunTranscript } from "../../domain/run-transcript.ts";
import { toCallDrafts } from "../../domain/tool-calls.ts";
import type { UsageTally } from "../../domain/usage.ts";
import { type EngineChoice, engineOf } from "../../model-queues.ts";
import { readSettled, type Run } from "../open-run.ts";
import { type EngineOutcome, runEngine } from "./run-engine.ts";
import { YieldPoint } from "./yield-point.ts";

/** A run of the engine, and what follows from how it ended. */
export async function takeTurn(
  run: Run,
  engine: EngineChoice,
  { transcript, tally }: { transcript: RunTranscript; tally: UsageTally },
): Promise<NextStep> {
  const { context, job, model, policy, log } = run;
  const { attempt, servedModel } = transcript;
  const { onEngineReport } = context;
  const about = { generation: job.ref.generation, model: servedModel ?? job.model, attempt };
  const { request } = run;
  const plans = toPlanContext({ request: () => request.get(), policy }, model);
  const onLeftOut = (part: string) => onEngineReport({ ...about, leftOut: part });
  const outcome = await askEngine(run, { plans, engine, transcript, onLeftOut });
  if (outcome.kind === "failed") onEngineReport({ ...about, error: outcome.error });
  if (outcome.kind === "finished") {
    const isModerated = policy.moderation !== undefined;
    for (const draft of toCallDrafts(outcome.calls, transcript, { isModerated })) log.appender.append(draft);
  }
  // What the engine has said to its end is not given up because the worker is to stop: nothing but the end is left to append.
  const isWhole = outcome.kind === "finished" && outcome.calls.length === 0;
  const after = await (isWhole ? log.settledTranscript() : readSettled(run));
  if (!after || outcome.kind === "stopped") return { kind: "stopped" };
  if (outcome.kind === "finished") tally.add(outcome.counted, outcome.usage);
  const usage = tally.total(after.usage);
  return afterTurn(outcome, { context: plans, transcript: after, engine, usage });
}

interface Asked {
  readonly plans: PlanContext;
  readonly engine: EngineChoice;
  /** What came before. */
  readonly transcript: RunTranscript;
  readonly onLeftOut: (part: string) => void;
}

/** While the engine speaks, a batch generation offers its slot. */
async function askEngine(run: Run, asked: Asked): Promise<EngineOutcome> {
  const { job, model, policy, log, pace, stop, totalAtMs, request } = run;
  const { plans, engine, transcript, onLeftOut } = asked;
  using yieldPoint = job.priority === "batch" ? openYieldPoint(run, asked) : undefined;
  return await runEngine({
    engine: engineOf(model, engine),
    request,
    turn: toTurn(transcript),
    timeouts: policy.timeouts,
    totalAtMs,
    appender: log.appender,
    pace,
    signal: stop,
    waitsWhileBusy: !mayFallBack({ context: plans, transcript, engine }),
    onLeftOut,
    onSaid: yieldPoint && ((event) => yieldPoint.said(event)),
    onFinished: yieldPoint && (() => yieldPoint.finished()),
  });
}

function openYieldPoint(run: Run, { plans, engine, transcript }: Asked): YieldPoint {
  const { job, request } = run;
  const { turnReasoned: reasoned, turnCounted: counted } = transcript;
  return new YieldPoint({
    job,
    seam: { prefix: toTurn(transcript).prefix, reasoned, counted },
    canContinue(seam) {
      const can = plans.canContinue(engine, seam);
      // It was parsed for this.
      request.release();
      return can;
    },
    onYield: () => run.yieldSlot(),
  });
}
