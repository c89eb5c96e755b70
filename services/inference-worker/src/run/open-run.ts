import type { Job } from "@reprise/jobs";
import { chunkingOf, type LogSnapshot } from "@reprise/stream";
import { recordOps } from "@reprise/broker";
import {
  type EffectivePolicy,
  type RepriseError,
  type RequestedEvent,
  type UnixMs,
  type Usage,
  MAX_LOGPROBS,
  plusMs,
  toUnixMs,
  waitsOf,
} from "@reprise/protocol";
import type { TraceSpan } from "@reprise/runtime/telemetry";
import type { EndDraft } from "../domain/after-turn.ts";
import type { AttemptPlan } from "../domain/plan-attempt.ts";
import type { RunTranscript } from "../domain/run-transcript.ts";
import type { ServedModel } from "../model-queues.ts";
import { type OutputOwner, toOutputOwner } from "../media/output-media.ts";
import { AttemptTiming } from "./metrics/attempt-timing.ts";
import { TokenMeter } from "./metrics/token-meter.ts";
import { createPace, type Pace } from "./pace.ts";
import { InputMeter } from "./turn/input-meter.ts";
import { createRunBudget, type RunBudget } from "./run-budget.ts";
import type { RunContext } from "./run-context.ts";
import { RunLog } from "./log/run-log.ts";
import { startRunSpan } from "./trace/trace-run.ts";
import { RunRequest, toAsked } from "./run-request.ts";
import type { Wait } from "./settle-request.ts";
import type { Server } from "../engines/engine.ts";

/** The first step of a run: an attempt, a wait for earlier turns, or the end at once. */
export type FirstStep = AttemptPlan | Wait | { readonly kind: "end"; readonly draft: EndDraft };

/** One generation while this worker runs it. */
export interface Run extends Disposable {
  readonly context: RunContext;
  readonly job: Job;
  readonly model: ServedModel;
  readonly first: FirstStep;
  /** The run's span; it records nothing if the worker does not trace. */
  readonly span: TraceSpan;
  readonly policy: EffectivePolicy;
  readonly request: RunRequest;
  readonly route: RunRoute;
  /** The optional types of events that the creator's version knows: of these no others are appended. */
  readonly emits: ReadonlySet<string>;
  /** Whose is what the model makes beside words, and how much that may be; undefined where the request is not known. */
  readonly owner: OutputOwner | undefined;
  /** True if the generation ends when its model asks for tools, instead of waiting for their answers. */
  readonly endsOnCalls: boolean;
  /** Number of log probabilities that it may still give. */
  readonly logprobs: { left: number };
  /** True if the request's input comes while it runs. */
  readonly inputStream: boolean;
  /** Measures that input; undefined without it. */
  readonly inputMeter: InputMeter | undefined;
  /** True if the request asks for JSON. */
  readonly hasForm: boolean;
  /**
   * When the generation as a whole has to be over, in wall-clock milliseconds. Clocks of the nodes that create and of those that run are
   * taken to agree within what such a timeout leaves open.
   */
  readonly totalAtMs: UnixMs;
  readonly log: RunLog;
  readonly attemptTiming: AttemptTiming;
  readonly tokens: TokenMeter;
  /** The failure of an engine that was the last one, if any. */
  lastFailure: RepriseError | undefined;
  readonly pace: Pace | undefined;
  readonly budget: RunBudget | undefined;
  /** Aborted when this worker is fenced, or is to stop, or the generation has yielded its slot. */
  readonly stop: AbortSignal;
  /** Hands the generation over: its slot is another job's. */
  yieldSlot(): void;
  /** The worker no longer answers that it runs this generation. */
  leave(): void;
}

interface PlannedRun extends Pick<Run, "job" | "model" | "policy" | "first"> {
  /** The log that the plan was made for, and what has been used in it. */
  readonly snapshot: LogSnapshot;
  readonly used: Usage;
  /** Bytes of streamed input that were consumed in it. */
  readonly consumedBytes: number;
  /** With the prompt that was made for it. Undefined where it has expired: then the first step is the end. */
  readonly requested: RequestedEvent | undefined;
  /** When the worker took the job. */
  readonly takenAtMs: UnixMs;
}

const RECORD_BUDGET_MS = 2_000;

/** Follows the log and keeps the job, until the run is disposed of. */
export function openRun(context: RunContext, planned: PlannedRun): Run {
  const { connection, ackWaitMs, onError, handover, running } = context;
  const { job, model, policy, first, snapshot, requested, takenAtMs } = planned;
  using stack = new DisposableStack();
  const pace = stack.use(createPace({ connection, ref: job.ref, policy, snapshot, onError }));
  const { ledger, onCutOff } = context;
  const budget = stack.use(createRunBudget({ ledger, ref: job.ref, requested, onCutOff, onError }));
  const format = requested?.request.input_stream?.format;
  const { consumedBytes } = planned;
  const attemptTiming = new AttemptTiming((record) => {
    // What is not recorded is not measured, and nothing waits for it.
    void recordOps(context.log.publish, job.ref, record, { budgetMs: RECORD_BUDGET_MS });
  });
  const onStoredAfter = (ms: number) => {
    context.metrics.storedAfter(ms);
    attemptTiming.stored(ms);
  };
  const chunking = chunkingOf(policy, context.pressure);
  const options = { connection, log: context.log, job, ackWaitMs, onStoredAfter, chunking, onError };
  const log = stack.use(new RunLog({ ...options, snapshot, ...(pace && { onStored: pace.stored }) }));
  const attempt = first.kind === "begin" ? first.attempt : undefined;
  if (requested && attempt === 1)
    context.metrics.queueWait(job.model, takenAtMs - toUnixMs(requested.created_at));
  const { generation } = job.ref;
  running.set(generation, log);
  const leave = () => {
    if (running.get(generation) === log) running.delete(generation);
  };
  stack.defer(leave);
  const stopping = new AbortController();
  const onStop = () => stopping.abort();
  handover.addEventListener("abort", onStop);
  stack.defer(() => handover.removeEventListener("abort", onStop));
  log.signal.addEventListener("abort", onStop);
  if (handover.aborted) onStop();
  const owned = stack.move();
  return {
    context,
    job,
    model,
    first,
    span: startRunSpan(context.tracing, {
      job,
      requested,
      attempt,
      takenAtMs,
    }),
    policy,
    request: new RunRequest(
      log,
      requested && toAsked(requested),
      requested && waitsOf(requested).length > 0 ? requested.prompt : undefined,
    ),
    route: new RunRoute(),
    emits: new Set(requested?.events),
    owner: requested && toOutputOwner(requested),
    endsOnCalls: requested?.request.tool_calls === "end",
    logprobs: { left: MAX_LOGPROBS },
    inputStream: format !== undefined,
    inputMeter: format && new InputMeter({ format, consumedBytes, budget }),
    hasForm: (requested?.request.response_format?.type ?? "text") !== "text",
    totalAtMs: plusMs(toUnixMs(requested?.created_at ?? ""), policy.timeouts.total.after_ms),
    log,
    attemptTiming,
    tokens: new TokenMeter(planned.used),
    lastFailure: undefined,
    pace,
    budget,
    stop: stopping.signal,
    yieldSlot: onStop,
    leave,
    [Symbol.dispose]: () => owned.dispose(),
  };
}

/** Returns the transcript after all appended events are stored; undefined when the work is to stop. */
export async function readSettled({ log, stop }: Run): Promise<RunTranscript | undefined> {
  const transcript = await log.settledTranscript();
  return stop.aborted ? undefined : transcript;
}

/** The servers that a run has met. Another attempt goes to a server that has not failed it yet, where there is one. */
class RunRoute {
  readonly #avoid = new Set<string>();
  #last: string | undefined;

  get avoid(): ReadonlySet<string> {
    return this.#avoid;
  }

  took({ id }: Server): void {
    this.#last = id;
  }

  /** The attempt has failed at the server that it met last. */
  failed(): void {
    if (this.#last !== undefined) this.#avoid.add(this.#last);
    this.#last = undefined;
  }
}
