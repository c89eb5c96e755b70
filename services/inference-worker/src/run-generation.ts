import { setTimeout as pause } from "node:timers/promises";
import {
  createWriterName,
  appendDecision,
  Appender,
  type AppenderState,
  type Broker,
  createCheckpointer,
  type GenerationLog,
  type Job,
  subscribeLive,
} from "@reprise/log";
import {
  decodeEvent,
  type EventDraft,
  isTerminal,
  type KnownEvent,
  peekSeq,
  RepriseError,
  toRepriseError,
  type RequestedEvent,
  Transcript,
  type UnknownEvent,
  type WorkerId,
} from "@reprise/protocol";
import { type Plan, planAttempt } from "./domain/plan-attempt.ts";
import { loadLog } from "./load-log.ts";
import { runEngine } from "./run-engine.ts";
import type { Engine } from "./engines/engine.ts";

export interface RunContext {
  readonly connection: Broker["main"];
  readonly log: GenerationLog;
  readonly worker: WorkerId;
  readonly ackWaitMs: number;
  readonly onError: (error: unknown) => void;
  /** Aborted when the worker is to hand its jobs over. */
  readonly handover: AbortSignal;
  /** Appenders of running generations, to be synced when the connection comes back. */
  readonly appenders: Set<Appender>;
}

/**
 * How a run ended. `completed` and `failed`: by the terminal event that it appended. `stopped`: by somebody else's terminal
 * event. `superseded`: by a higher attempt. `handed_over`: the job was given back. `nothing_to_do`: the generation had ended.
 */
export type RunResult = "completed" | "failed" | "stopped" | "superseded" | "handed_over" | "nothing_to_do";

const MAX_REPLANS = 20;
const REPLAN_PAUSE_MS = 50;

/**
 * Runs one generation: from the job to its end in the log, or to the point where somebody else has the say.
 *
 * The run follows its own log. Whatever ends it from outside (a cancel, a higher attempt) is an event there, seen on the live
 * feed or by the next append; it aborts the engine's request, and nothing more is written.
 *
 * What may go better the next time is thrown, and the job comes back. A defect ends the generation: it would come back for ever.
 */
export async function runGeneration(context: RunContext, job: Job, engine: Engine): Promise<RunResult> {
  try {
    return await runUntilPlanned(context, job, engine);
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.retryable) throw error;
    context.onError(thrown);
    const { log } = context;
    const decide = (transcript: Transcript) =>
      transcript.ended ? undefined : failedEvent(error, transcript);
    await appendDecision({ ...log, ref: job.ref, writer: createWriterName(), decide });
    await job.ack();
    return "failed";
  }
}

async function runUntilPlanned(context: RunContext, job: Job, engine: Engine): Promise<RunResult> {
  for (let tries = 0; tries < MAX_REPLANS; tries++) {
    if (tries > 0) await pause(REPLAN_PAUSE_MS);
    const result = await runAttempt(context, job, engine);
    if (result !== "outdated") return result;
  }
  throw new RepriseError(
    "broker_unavailable",
    "The generation's log grows while no attempt at it has begun.",
  );
}

/**
 * One attempt. What it builds on is what the log said when it was read; should the log have grown before
 * `generation.started` is stored (a worker that is being taken over wrote a last event, a replica lagged), the attempt is
 * `outdated`: it has written nothing, and is planned anew.
 */
async function runAttempt(context: RunContext, job: Job, engine: Engine): Promise<RunResult | "outdated"> {
  const { log, worker, ackWaitMs, connection, onError, handover, appenders } = context;
  const { ref } = job;
  const snapshot = await loadLog(log, job);
  const requested = decodeEvent(snapshot.events[0]!) as RequestedEvent;
  const transcript = new Transcript();
  for (const payload of snapshot.events) transcript.apply(decodeEvent(payload));
  const plan = toPlan(job, requested, transcript, engine);
  if (plan.kind === "done") {
    await job.ack();
    return "nothing_to_do";
  }

  const abort = new AbortController();
  const checkpointer = createCheckpointer({
    publish: log.publishCheckpoint,
    ref,
    snapshot,
    maxBytes: log.maxCheckpointBytes,
    now: Date.now(),
  });
  const writer = createWriterName();
  let begun = false;
  const appender = new Appender({
    ...log,
    ref,
    head: { seq: peekSeq(snapshot.events.at(-1)!), streamSeq: snapshot.streamSeq },
    writer,
    onStored: (event) => {
      begun ||= event.writer === writer;
      checkpointer.add(event.payload, event.streamSeq, Date.now());
    },
    isFence: (event) => !begun || isFence(event),
    onEnd: () => abort.abort(),
  });
  const live = subscribeLive(connection, ref, {
    onEvent: (payload) => appender.observe(peekSeq(payload)),
    onError,
  });
  const heartbeat = setInterval(() => {
    job.working();
    checkpointer.tick(Date.now());
    appender.sync();
  }, ackWaitMs / 3);
  const handOver = () => abort.abort();
  handover.addEventListener("abort", handOver);
  appenders.add(appender);
  try {
    if (handover.aborted) handOver();
    let ended: "completed" | "failed" | undefined = "failed";
    if (plan.kind === "fail") appender.append(failedEvent(plan.error, transcript));
    else {
      const usageBefore = transcript.usage;
      ended = await runEngine({
        appender,
        engine,
        plan,
        requested,
        worker,
        usageBefore,
        signal: abort.signal,
      });
    }
    const state = await appender.settled();
    if (state.kind === "fenced" && !isFence(state.by)) return "outdated";
    return await finish({ state, ended, job, flush: () => checkpointer.flush() });
  } finally {
    appenders.delete(appender);
    handover.removeEventListener("abort", handOver);
    clearInterval(heartbeat);
    live.unsubscribe();
  }
}

interface Finish {
  state: AppenderState;
  /** How this run has ended the generation, if it has. */
  ended: "completed" | "failed" | undefined;
  job: Job;
  flush: () => Promise<void>;
}

/** The terminal event is stored; then the final checkpoint; then the job is done. */
async function finish({ state, ended, job, flush }: Finish): Promise<RunResult> {
  if (state.kind === "failed") throw state.error;
  if (state.kind === "fenced") {
    // A higher attempt holds the job now, and an acknowledgement of ours would take it from that one.
    if (!isTerminal(state.by.type)) return "superseded";
    await flush();
    await job.ack();
    return "stopped";
  }
  await flush();
  if (!ended) {
    job.release();
    return "handed_over";
  }
  await job.ack();
  return ended;
}

function isFence(event: KnownEvent | UnknownEvent): boolean {
  return event.type === "generation.started" || isTerminal(event.type);
}

function toPlan(job: Job, requested: RequestedEvent, transcript: Transcript, engine: Engine): Plan {
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
  return planAttempt(transcript, requested.policy, engine.canContinue(requested.request));
}

function failedEvent({ code, message, retryable }: RepriseError, { usage }: Transcript): EventDraft {
  return { type: "generation.failed", error: { code, message, retryable }, usage };
}
