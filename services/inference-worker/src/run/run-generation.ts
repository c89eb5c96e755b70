import {
  appendDecision,
  type AppenderState,
  type Broker,
  createWriterName,
  enqueueJob,
  type GenerationLog,
  isHeld,
  type Job,
  type LogSnapshot,
  readPolicy,
  storeCheckpoint,
} from "@reprise/log";
import {
  decodeEvent,
  type GenerationId,
  isTerminal,
  parseWorkerId,
  RepriseError,
  type RequestedEvent,
  toRepriseError,
  type Transcript,
  type WorkerId,
} from "@reprise/protocol";
import { runAttempts } from "./attempts.ts";
import { type EndDraft, failed } from "../domain/after-turn.ts";
import type { EngineReport } from "./engine-report.ts";
import { type EngineChoice, type Plan, planAttempt, type PlanContext } from "../domain/plan-attempt.ts";
import type { RunTranscript } from "../domain/run-transcript.ts";
import { loadLog } from "./load-log.ts";
import type { ServedModel } from "../model-queues.ts";
import { createPace } from "./pace.ts";
import { recoverLog } from "./recover-log.ts";
import { foldLog, isFence, RunLog } from "./run-log.ts";

export interface RunContext {
  readonly connection: Broker["main"];
  readonly log: GenerationLog;
  readonly worker: WorkerId;
  readonly ackWaitMs: number;
  readonly onError: (error: unknown) => void;
  readonly onEngineReport: (report: EngineReport) => void;
  /** Aborted when the worker is to hand its jobs over. */
  readonly handover: AbortSignal;
  /** When the connection was last made anew, by `performance.now()`; infinity while it is away. */
  readonly connectedAtMs: () => number;
  /** What this worker runs: to be synced when the connection comes back, and named to other workers that ask. */
  readonly running: Map<GenerationId, RunLog>;
}

/**
 * How a run ended. `completed` and `failed`: by the terminal event that it appended. `stopped`: by another writer's terminal
 * event. `superseded`: by a higher attempt. `handed_over`: the job was given back. `held`: the generation is run already, by this
 * worker or by another one whose heartbeats have not come through. `nothing_to_do`: the generation had ended.
 */
export type RunResult =
  | "completed"
  | "failed"
  | "stopped"
  | "superseded"
  | "handed_over"
  | "held"
  | "nothing_to_do";

/** A plan that the log has overtaken, and the log as it is now; undefined where it has to be read again. */
interface StalePlan {
  readonly snapshot: LogSnapshot | undefined;
}

const MAX_REPLANS = 20;

/**
 * Runs one generation: from the job to its end in the log, or until this worker is fenced.
 *
 * The run follows its own log. What ends it from outside (a cancel, a higher attempt, a halt) is an event there, seen on the live
 * feed or by the next append; it aborts the engine's request, and nothing more is written.
 *
 * What may go better the next time is thrown, and the job comes back. A defect ends the generation: it would come back for ever.
 */
export async function runGeneration(context: RunContext, job: Job, model: ServedModel): Promise<RunResult> {
  try {
    return await planAndRun(context, job, model);
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.retryable) throw error;
    context.onError(thrown);
    const { log } = context;
    const decide = ({ ended, usage }: Transcript) => (ended ? undefined : failed(error, usage));
    await appendDecision({ ...log, ref: job.ref, writer: createWriterName(), decide });
    await job.ack();
    return "failed";
  }
}

/**
 * A plan is made for what the log said when it was read. Should the log have grown before the plan's first event is stored (a worker
 * that is being taken over wrote a last event, a replica lagged), nothing is written, and a new plan is made at once, for the log as the
 * lost append has shown it; so it is when moderation halts what runs.
 */
async function planAndRun(context: RunContext, job: Job, model: ServedModel): Promise<RunResult> {
  let known: LogSnapshot | undefined;
  for (let tries = 0; tries < MAX_REPLANS; tries++) {
    const result = await runPlan(context, { job, model, known });
    if (typeof result === "string") return result;
    known = result.snapshot;
  }
  throw new RepriseError(
    "broker_unavailable",
    "The generation's log grows while no attempt at it has begun.",
  );
}

async function runPlan(
  context: RunContext,
  { job, model, known }: { job: Job; model: ServedModel; known: LogSnapshot | undefined },
): Promise<RunResult | StalePlan> {
  const snapshot = known ?? (await loadLog(context, job));
  const requested = readRequested(snapshot.events[0]!);
  const transcript = foldLog(snapshot.events);
  const plans = toPlanContext(requested, model);
  const plan = toPlan(job, requested, transcript, plans);
  if (plan.kind === "done") {
    // The process that ended it may have died before the final checkpoint.
    const { publishCheckpoint: publish, maxCheckpointBytes: maxBytes } = context.log;
    await storeCheckpoint({ publish, ref: job.ref, snapshot, maxBytes });
    await job.ack();
    return "nothing_to_do";
  }
  if (await isHeldAlready(context, job, transcript)) return "held";
  return executePlan({ context, job, model, snapshot, requested, transcript, plans }, plan);
}

/**
 * The log's first event, which is not the request where that has expired. A policy of a later version is not run by a guess: the job goes
 * back to the queue, for a newer worker.
 * @throws RepriseError `policy_unsupported`
 */
function readRequested(first: Uint8Array): RequestedEvent {
  const requested = decodeEvent(first) as RequestedEvent;
  return { ...requested, policy: readPolicy(first)! };
}

interface PlannedRun {
  readonly context: RunContext;
  readonly job: Job;
  readonly model: ServedModel;
  readonly snapshot: LogSnapshot;
  readonly requested: RequestedEvent;
  readonly transcript: RunTranscript;
  readonly plans: PlanContext;
}

async function executePlan(
  run: PlannedRun,
  plan: Exclude<Plan, { kind: "done" }>,
): Promise<RunResult | StalePlan> {
  const { context, job, model, snapshot, requested, transcript, plans } = run;
  const { connection, ackWaitMs, onError, onEngineReport, handover, running, worker } = context;
  using pace = createPace({ connection, ref: job.ref, policy: requested.policy, snapshot, onError });
  const options = { connection, log: context.log, job, ackWaitMs, onError };
  using log = new RunLog({ ...options, snapshot, onStored: (event) => pace?.stored(event) });
  const { generation } = job.ref;
  running.set(generation, log);
  const leave = () => {
    if (running.get(generation) === log) running.delete(generation);
  };
  const stopping = new AbortController();
  const onStop = () => stopping.abort();
  handover.addEventListener("abort", onStop);
  log.signal.addEventListener("abort", onStop);
  if (handover.aborted) onStop();
  try {
    const { signal: stop } = stopping;
    const end =
      plan.kind === "begin"
        ? await runAttempts({ worker, job, requested, model, plans, log, pace, stop, onEngineReport }, plan)
        : endOf(plan, transcript);
    if (end) log.append(end);
    else await appendHandover(log, worker);
    const state = await log.settled();
    if (state.kind === "rolled_back") {
      const held = log.held();
      if (held) await recoverLog(options, worker, held, state);
      // The new job may come to this worker too.
      leave();
      return (await requeueLostJob(context, job)) ? "handed_over" : { snapshot: undefined };
    }
    return await finish({ state, end, log, job });
  } finally {
    handover.removeEventListener("abort", onStop);
    leave();
  }
}

function endOf(plan: Extract<Plan, { kind: "fail" | "halt" }>, { usage }: Transcript): EndDraft {
  if (plan.kind === "fail") return failed(plan.error, usage);
  return { type: "generation.completed", finish_reason: "content_filter", usage };
}

/**
 * A store that has lost the end of a log may have lost its job as well: then no process would end the generation if this worker
 * died. @returns whether it had; the new job may go to any worker
 */
async function requeueLostJob({ log }: RunContext, { model, ref, payload }: Job): Promise<boolean> {
  const { duplicate } = await enqueueJob(log.publish, { model, ref, payload });
  return !duplicate;
}

/** So that the next worker knows that this one was not lost. */
async function appendHandover(log: RunLog, worker: WorkerId): Promise<void> {
  if ((await log.settled()).kind !== "open") return;
  const { attempt, attemptEnd, worker: last } = await log.transcript();
  if (last === worker && !attemptEnd) log.append({ type: "attempt.ended", attempt, reason: "handover" });
}

interface Finish {
  state: Exclude<AppenderState, { kind: "rolled_back" }>;
  /** How this run has ended the generation, if it has. */
  end: EndDraft | undefined;
  log: RunLog;
  job: Job;
}

/** The terminal event is stored; then the final checkpoint; then the job is done. */
async function finish({ state, end, log, job }: Finish): Promise<RunResult | StalePlan> {
  if (state.kind === "failed") throw state.error;
  if (state.kind === "fenced" && !isFence(state.by)) return { snapshot: await log.snapshot() };
  // A higher attempt holds the job now, and an acknowledgement of ours would take it from that one.
  if (state.kind === "fenced" && !isTerminal(state.by.type)) return "superseded";
  await log.flush();
  if (state.kind === "open" && !end) {
    job.release();
    return "handed_over";
  }
  await job.ack();
  if (state.kind === "fenced" || !end) return "stopped";
  return end.type === "generation.completed" ? "completed" : "failed";
}

function toPlanContext({ request, policy }: RequestedEvent, { engine, fallback }: ServedModel): PlanContext {
  const engineOf = (choice: EngineChoice) => (choice === "fallback" && fallback ? fallback.engine : engine);
  return {
    policy,
    fallbackModel: fallback?.model,
    canContinue: (choice, seam) => engineOf(choice).canContinue(request, seam),
    servers: (choice) => engineOf(choice).servers ?? 1,
  };
}

function toPlan(job: Job, requested: RequestedEvent, transcript: RunTranscript, plans: PlanContext): Plan {
  if (transcript.ended) return { kind: "done" };
  if (requested.seq !== 0) {
    return {
      kind: "fail",
      error: new RepriseError("cursor_expired", "The generation's request is no longer kept."),
    };
  }
  // Two creates with one key and different models: the job of one and seq 0 of the other have won.
  if (requested.request.model !== job.model) {
    const message = "The Idempotency-Key was used for two models at once.";
    return { kind: "fail", error: new RepriseError("idempotency_conflict", message) };
  }
  return planAttempt(transcript, plans);
}

/**
 * Whether a worker runs the generation already. This one knows by itself, without the log: a store that has lost the log's end
 * may have lost that this worker has begun. Another one is asked, wherever it has not let go of the generation: such a store has
 * forgotten how often it has delivered a job, too.
 */
async function isHeldAlready(
  { connection, connectedAtMs, running, worker: self }: RunContext,
  { ref }: Job,
  { attemptEnd, worker }: Transcript,
): Promise<boolean> {
  if (running.has(ref.generation)) return true;
  if (attemptEnd === "handover" || worker === undefined || worker === self) return false;
  return isHeld(connection, parseWorkerId(worker), ref.generation, connectedAtMs);
}
