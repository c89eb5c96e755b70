import { holdingModeration } from "@reprise/moderation";
import {
  failedDraft,
  plus,
  type RepriseError,
  REQUEST_SEQ,
  type Seq,
  toRepriseError,
} from "@reprise/protocol";
import { formatTraceparent, traceFields, type TraceSpan } from "@reprise/runtime/telemetry";
import { afterTurn, type EngineOutcome, mayFallBack, type NextStep } from "../../domain/after-turn.ts";
import { fitsFormat } from "../../schema/fits-schema.ts";
import { type PlanContext, toPlanContext, toTurn } from "../../domain/plan-attempt.ts";
import type { RunTranscript } from "../../domain/run-transcript.ts";
import { toAnnotationDrafts } from "../../domain/annotation-drafts.ts";
import { toCallDrafts } from "../../domain/tool-calls.ts";
import { addTurnRest, toCallCount, toTurnRest } from "../../domain/usage.ts";
import { openMedia } from "../../media/open-media.ts";
import { OutputMedia } from "../../media/output-media.ts";
import { type EngineChoice, engineOf } from "../../model-queues.ts";
import { followInput } from "@reprise/stream";
import { readSettled, type Run } from "../open-run.ts";
import type { TurnEnd, TurnTiming } from "../metrics/turn-timing.ts";
import {
  describeAnswer,
  describeRequest,
  describeServer,
  endTurnSpan,
  startTurnSpan,
} from "../trace/trace-turn.ts";
import { TurnContent } from "../trace/turn-content.ts";
import { InputGate, inputHalt } from "./input-gate.ts";
import { runEngine, type Throttle } from "./run-engine.ts";
import { YieldPoint } from "./yield-point.ts";

/** A run of the engine, and what follows from how it ended. */
export async function takeTurn(
  run: Run,
  engine: EngineChoice,
  { transcript, interrupted }: Pick<Asked, "transcript" | "interrupted">,
): Promise<NextStep> {
  const { context, job, model, policy, log } = run;
  const { attempt, servedModel } = transcript;
  const { onEngineReport } = context;
  const about = { generation: job.ref.generation, model: servedModel ?? job.model, attempt };
  const { request } = run;
  const plans = toPlanContext({ request: () => request.get(), policy }, model);
  const unpriced = await beginBudget(run, engine, transcript);
  if (unpriced) return { kind: "end", draft: failedDraft(unpriced, transcript.usage) };
  const span = startTurnSpan(run, { engine: engineOf(model, engine), model: about.model, attempt });
  const onLeftOut = (part: string) => onEngineReport({ ...about, ...traceFields(span), leftOut: part });
  const { name } = engineOf(model, engine);
  const onWithoutField = (withoutField: string) =>
    onEngineReport({ ...about, ...traceFields(span), withoutField });
  const timing = context.metrics.turn(about.model, name, (waitedMs) => run.attemptTiming.arrived(waitedMs));
  run.tokens.asked(context.metrics.tokens(about.model, name));
  const onFirst = () => span.event("first_token");
  const content = context.tracing.recordsContent && span.isRecorded ? new TurnContent() : undefined;
  if (span.isRecorded) describeRequest(span, request);
  const gate = openInputGate(run);
  const onUnreachable = (error: RepriseError) => onEngineReport({ ...about, ...traceFields(span), error });
  const asked = {
    plans,
    engine,
    transcript,
    interrupted,
    span,
    onLeftOut,
    onWithoutField,
    onUnreachable,
    onFirst,
    timing,
    content,
    gate,
  };
  const outcome = await askEngine(run, asked);
  if (content) span.set(content.ofAnswer(outcome.kind === "finished" ? outcome.calls : []));
  endTurnSpan(span, outcome, timing);
  timing.ended(toTurnEnd(run, outcome));
  if (outcome.kind === "failed" || outcome.kind === "unprepared")
    onEngineReport({ ...about, ...traceFields(span), error: outcome.error });
  run.lastFailure = outcome.kind === "failed" ? outcome.error : undefined;
  if (outcome.kind === "timeout") context.metrics.timedOut(about.model, outcome.name);
  if (outcome.kind === "timeout" && outcome.name !== "total")
    onEngineReport({ ...about, ...traceFields(span), silentMs: policy.timeouts[outcome.name].after_ms });
  if (outcome.kind === "finished") context.onEngineAnswered(about.model);
  const rest = outcome.kind === "finished" ? toTurnRest(outcome, outcome.usage) : undefined;
  if (outcome.kind === "finished" && outcome.annotations.length > 0) {
    // They name places of the log: what was said has to be there.
    const said = await log.settledTranscript();
    const isFromStart = toTurn(transcript).prefix.text === "";
    const drafts = toAnnotationDrafts(outcome.annotations, (isFromStart && said?.turnTexts) || []);
    if (!interrupted.aborted) for (const draft of drafts) log.appender.append(draft);
  }
  if (outcome.kind === "finished" && rest && !interrupted.aborted) {
    const isModerated = policy.moderation !== undefined;
    const count = {
      ...toCallCount(rest, transcript.usage),
      ...(outcome.isReasonMissing && { finish_reason_missing: true as const }),
    };
    const drafts = toCallDrafts(outcome.calls, transcript, { isModerated, count });
    for (const draft of drafts) log.appender.append(draft);
  }
  // What the engine has said to its end is not given up because the worker is to stop: nothing but the end is left to append.
  const isWhole = outcome.kind === "finished" && outcome.calls.length === 0;
  const after = await (isWhole ? log.settledTranscript() : readSettled(run));
  if (after && interrupted.aborted) {
    run.tokens.used(after.usage);
    return { kind: "proceed" };
  }
  if (!after || outcome.kind === "stopped" || outcome.kind === "unprepared") return { kind: "stopped" };
  const usage = rest && isWhole ? addTurnRest(after.usage, rest) : after.usage;
  run.tokens.used(usage);
  if (outcome.kind === "spent") return { kind: "end", draft: failedDraft(outcome.error, usage) };
  if (outcome.kind === "finished" && isWhole && outcome.reason === "length" && run.budget?.isShort)
    return { kind: "end", draft: failedDraft(run.budget.cutShort(), usage) };
  if (outcome.kind === "halted") {
    log.appender.append(inputHalt(outcome, plus(after.cursor.seq, 1)));
    return { kind: "end", draft: { type: "generation.completed", finish_reason: "content_filter", usage } };
  }
  const answerFits = () => !run.hasForm || fitsFormat(request.get().response_format, after.answer);
  return afterTurn(outcome, { context: plans, transcript: after, engine, usage, answerFits });
}

/** @returns why the generation can't continue: a fallback that delivery did not know of has no price */
async function beginBudget(
  { budget, job, model }: Run,
  engine: EngineChoice,
  transcript: RunTranscript,
): Promise<RepriseError | undefined> {
  try {
    await budget?.begin(
      transcript.usage,
      transcript.servedModel ?? job.model,
      engineOf(model, engine).unseen,
    );
    return undefined;
  } catch (error) {
    return toRepriseError(error);
  }
}

function toTurnEnd({ log }: Run, outcome: EngineOutcome): TurnEnd {
  const { counted: tokens } = outcome;
  switch (outcome.kind) {
    case "finished":
      return { how: "ok", tokens };
    case "halted":
      return { how: { error: "halted" }, tokens };
    case "stopped": {
      const { state } = log.appender;
      const isCancelled = state.kind === "fenced" && state.by.type === "generation.cancelled";
      return { how: { error: isCancelled ? "cancelled" : "stopped" }, tokens };
    }
    case "failed":
    case "spent":
    case "unprepared":
      return { how: { error: outcome.error.code }, tokens };
    case "timeout":
      return { how: { error: `${outcome.name}_timeout` }, tokens };
  }
}

interface Asked {
  readonly plans: PlanContext;
  readonly engine: EngineChoice;
  /** The log before this turn. */
  readonly transcript: RunTranscript;
  /** Aborted when a reader interrupts the turn. */
  readonly interrupted: AbortSignal;
  /** The turn's span. */
  readonly span: TraceSpan;
  readonly onLeftOut: (part: string) => void;
  readonly onWithoutField: (name: string) => void;
  readonly onUnreachable: (error: RepriseError) => void;
  readonly onFirst: () => void;
  readonly timing: TurnTiming;
  /** Undefined unless that is switched on. */
  readonly content: TurnContent | undefined;
  /** Judges streamed input. Undefined if nothing is to judge. */
  readonly gate: InputGate | undefined;
}

function openInputGate({ context, job, policy, inputStream }: Run): InputGate | undefined {
  const { moderation } = policy;
  if (!inputStream || moderation?.input !== "gate") return undefined;
  return new InputGate({ judge: context.inputJudge, tenant: job.ref.tenant, moderation });
}

/** While the engine speaks, a batch generation offers its slot. */
async function askEngine(run: Run, asked: Asked): Promise<EngineOutcome> {
  const { job, model, policy, log, pace, budget, stop, totalAtMs, request, route, owner } = run;
  const { inputMeter: meter } = run;
  const {
    plans,
    engine,
    transcript,
    interrupted,
    span,
    onLeftOut,
    onWithoutField,
    onUnreachable,
    onFirst,
    timing,
    content,
    gate,
  } = asked;
  using yieldPoint = job.priority === "batch" ? openYieldPoint(run, asked) : undefined;
  const { media: store, output: storage, onError } = run.context;
  const { connection: main, reads } = run.context;
  const { publish } = run.context.log;
  await using output = owner && new OutputMedia({ storage, publish, ref: job.ref, owner, onError });
  const outcome = await runEngine({
    output,
    engine: engineOf(model, engine),
    request,
    turn: toTurn(transcript),
    async prepare() {
      await request.verify(run.context.log, job.ref.tenant);
      await gate?.prepare();
      if (content) span.set(TurnContent.ofRequest(request.get()));
    },
    brokerBudgetMs: run.context.log.budgetMs,
    meter,
    input:
      meter &&
      ((signal) => {
        const follow = (after: Seq) =>
          followInput({ broker: { main, reads }, ref: job.ref, after, signal, onError });
        const { consumed } = transcript;
        return meter.pass(gate ? gate.pass(follow(REQUEST_SEQ), consumed) : follow(consumed));
      }),
    media() {
      return openMedia(store, job.ref.tenant, request.media() ?? {});
    },
    timeouts: policy.timeouts,
    totalAtMs,
    appender: log.appender,
    throttle: toThrottle(pace, budget),
    budget,
    signal: AbortSignal.any([stop, interrupted]),
    emits: run.emits,
    logprobs: run.logprobs,
    isJudged: holdingModeration(policy) !== undefined,
    waitsWhileBusy: !mayFallBack({ context: plans, transcript, engine }),
    onLeftOut,
    onWithoutField,
    tenant: job.ref.tenant,
    route: {
      avoid: route.avoid,
      took(server) {
        route.took(server);
        describeServer(span, server);
      },
    },
    traceparent: span.context && formatTraceparent(span.context),
    onAnswer: span.isRecorded ? (answer) => describeAnswer(span, answer) : undefined,
    timing,
    onFirst,
    onUnreachable,
    onSaid:
      (yieldPoint ?? content) &&
      ((event) => {
        yieldPoint?.said(event);
        content?.said(event);
      }),
    onFinished: yieldPoint && (() => yieldPoint.finished()),
  });
  if (!gate?.halt || outcome.kind === "stopped") return outcome;
  const { rule, category } = gate.halt;
  return { kind: "halted", rule, category, counted: outcome.counted };
}

/** One that waits for both. */
function toThrottle(pace: Throttle | undefined, budget: Throttle | undefined): Throttle | undefined {
  if (!pace || !budget) return pace ?? budget;
  return {
    said(tokens) {
      pace.said(tokens);
      budget.said(tokens);
    },
    hold(signal) {
      const held = [pace.hold(signal), budget.hold(signal)].filter((wait) => wait !== undefined);
      return held.length === 0 ? undefined : Promise.all(held).then(() => undefined);
    },
  };
}

function openYieldPoint(run: Run, { plans, engine, transcript }: Asked): YieldPoint {
  const { job, request } = run;
  const { turnUnfit: reasoned, turnCounted: counted } = transcript;
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
