import { announceEnd, type Appender, type RemainingLog } from "@reprise/stream";
import { enqueueJob } from "@reprise/jobs";
import {
  type Fault,
  isErrorCode,
  isTerminal,
  type KnownEvent,
  toFault,
  type UnknownEvent,
  type Usage,
  withEstimatedInput,
} from "@reprise/protocol";
import {
  formatTraceparent,
  inSpan,
  LOG_SPAN,
  MESSAGING,
  NO_SPAN,
  REPRISE,
  type TraceSpan,
} from "@reprise/runtime/telemetry";
import type { EndDraft } from "../domain/after-turn.ts";
import type { Run } from "./open-run.ts";
import type { RunResult, StalePlan } from "./run-context.ts";
import { EngineError } from "../engines/engine-error.ts";
import { foldLog, isFence, createNonce, RunLog } from "./log/run-log.ts";
import { restoreLostEvents } from "../domain/restore-lost-events.ts";

type RolledBack = Extract<Appender["state"], { kind: "rolled_back" }>;

/**
 * The last step: the terminal event is stored; then the final checkpoint; then the job is done. A run that was stopped before gives its
 * job away instead.
 * @param draft how the run ends the generation; undefined when something has stopped it before
 */
export async function finishRun(run: Run, draft: EndDraft | undefined): Promise<RunResult | StalePlan> {
  const { log, job } = run;
  const end = draft && withInput(run, run.inputMeter?.count(draft) ?? draft);
  if (!end) await appendHandover(run);
  const state = await inSpan(end ? startEndSpan(run) : NO_SPAN, () => {
    if (end) log.appender.append(end);
    return log.appender.settled();
  });
  if (state.kind === "rolled_back") return recover(run, state);
  if (state.kind === "failed") throw state.error;
  if (state.kind === "fenced" && !isFence(state.by)) {
    const snapshot = await log.snapshot();
    run.tokens.used(foldLog(snapshot.events).usage);
    return { snapshot };
  }
  // A higher attempt holds the job now, and an acknowledgement of ours would take it from that one.
  if (state.kind === "fenced" && !isTerminal(state.by.type)) return "superseded";
  await log.flush();
  if (state.kind === "open" && !end) {
    job.release();
    return "handed_over";
  }
  const usage = usageOf(state.kind === "fenced" ? state.by : end);
  announceEnd(run.context.connection, job.ref, usage);
  if (usage) {
    run.tokens.used(usage);
    void run.budget?.settle(usage);
  }
  const hasEnded = state.kind !== "fenced" && end !== undefined;
  if (hasEnded) run.context.metrics.generationEnded(faultOf(run, end));
  await job.ack();
  if (!hasEnded) return "stopped";
  return end.type === "generation.completed" ? "completed" : "failed";
}

/** An engine that has finished, or produced something, or was silent for too long, has read the input, whether or not it has counted it. */
function withInput({ request }: Run, end: EndDraft): EndDraft {
  const { usage } = end;
  const isSilence = end.type === "generation.failed" && SILENCES.has(end.error.code);
  const hasFinished = end.type === "generation.completed" && end.finish_reason !== "interrupted";
  const wasRead = hasFinished || usage.output_tokens > 0 || isSilence;
  if (usage.input_tokens !== null || !wasRead) return end;
  const read = {
    ...end,
    usage: withEstimatedInput(usage, { request: request.get(), media: request.media() }),
  };
  request.release();
  return read;
}

const SILENCES: ReadonlySet<string> = new Set(["first_token_timeout", "between_tokens_timeout"]);

function startEndSpan({ context, job, span }: Run): TraceSpan {
  return context.tracing.start("append end", {
    kind: "producer",
    parent: span.context,
    attributes: {
      ...LOG_SPAN,
      [MESSAGING.operation]: "publish",
      [MESSAGING.operationType]: "send",
      [REPRISE.generation]: job.ref.generation,
    },
  });
}

/** Undefined where the generation is complete. */
function faultOf({ lastFailure }: Run, end: EndDraft): Fault | undefined {
  if (end.type === "generation.completed") return undefined;
  const { code } = end.error;
  const isRequests =
    lastFailure instanceof EngineError && lastFailure.code === code && lastFailure.isRequests;
  if (isRequests) return "client";
  return isErrorCode(code) ? toFault(code) : "platform";
}

function usageOf(end: KnownEvent | UnknownEvent | EndDraft | undefined): Usage | undefined {
  switch (end?.type) {
    case "generation.completed":
    case "generation.failed":
    case "generation.cancelled":
      return end.usage;
    default:
      return undefined;
  }
}

/** So that the next worker knows that this one was not lost. */
async function appendHandover({ log, context, tokens }: Run): Promise<void> {
  const transcript = await log.settledTranscript();
  if (!transcript) return;
  tokens.used(transcript.usage);
  const { attempt, attemptEnd, worker } = transcript;
  if (worker === context.worker && !attemptEnd)
    log.appender.append({ type: "attempt.ended", attempt, reason: "handover" });
}

/**
 * A store that has lost the end of a log may have lost its job as well: then no process would end the generation if this worker died. So
 * the job is queued again too; a new one may go to any worker, this one included.
 */
async function recover(run: Run, remaining: RolledBack): Promise<RunResult | StalePlan> {
  const { context, job } = run;
  await recoverLog(run, remaining);
  run.leave();
  const { model, ref, priority, payload } = job;
  const { duplicate } = await enqueueJob(context.log.publish, {
    model,
    ref,
    priority,
    payload,
    trace: run.span.context && formatTraceparent(run.span.context),
  });
  return duplicate ? { snapshot: undefined } : "handed_over";
}

/**
 * Appends the events that the broker has lost and this worker still holds. Restores nothing if another process has continued the log after the
 * loss: its events are kept. Restores nothing either for a log that has outgrown its checkpoint.
 *
 * The last checkpoint is that of the recovered log. A checkpoint of the lost log could be followed by an event that is stored again at the same place, byte for
 * byte, and a reader would take it for a prefix of the log.
 */
async function recoverLog({ context, job, log: lost }: Run, { events, head }: RemainingLog): Promise<void> {
  const held = lost.held();
  if (!held) return;
  const isPrefix = events.every(({ payload }, i) => held[i] && Buffer.compare(payload, held[i]) === 0);
  if (!isPrefix) return;
  const snapshot = { events: events.map(({ payload }) => payload), streamSeq: head.streamSeq };
  using log = new RunLog({ ...context, job, snapshot });
  const { worker } = context;
  for (const draft of restoreLostEvents({ held, kept: events.length, worker, nonce: createNonce() }))
    log.appender.append(draft);
  // The next plan finds out whether another worker holds the generation by now, or the broker is away again.
  await log.appender.settled();
  await lost.checkpointsSettled();
  await log.flush();
}
