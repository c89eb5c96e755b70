import { afterTurn, mayFallBack, type NextStep } from "../../domain/after-turn.ts";
import { toPlanContext, toTurn } from "../../domain/plan-attempt.ts";
import type { RunTranscript } from "../../domain/run-transcript.ts";
import { toCallDrafts } from "../../domain/tool-calls.ts";
import type { UsageTally } from "../../domain/usage.ts";
import { type EngineChoice, engineOf } from "../../model-queues.ts";
import { readSettled, type Run } from "../open-run.ts";
import { runEngine } from "./run-engine.ts";

/** A run of the engine, and what follows from how it ended. */
export async function takeTurn(
  run: Run,
  engine: EngineChoice,
  { transcript, tally }: { transcript: RunTranscript; tally: UsageTally },
): Promise<NextStep> {
  const { context, job, model, policy, log, pace, stop, totalAtMs } = run;
  const { attempt, servedModel } = transcript;
  const { onEngineReport } = context;
  const about = { generation: job.ref.generation, model: servedModel ?? job.model, attempt };
  const { request } = run;
  const plans = toPlanContext({ request: () => request.get(), policy }, model);
  const outcome = await runEngine({
    engine: engineOf(model, engine),
    request,
    turn: toTurn(transcript),
    timeouts: policy.timeouts,
    totalAtMs,
    appender: log.appender,
    pace,
    signal: stop,
    waitsWhileBusy: !mayFallBack({ context: plans, transcript, engine }),
    onLeftOut: (part) => onEngineReport({ ...about, leftOut: part }),
  });
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
