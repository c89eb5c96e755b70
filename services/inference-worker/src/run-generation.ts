import { randomUUID } from "node:crypto";
import {
  Appender,
  type AppenderState,
  type Broker,
  createCheckpointer,
  type GenerationLog,
  type Job,
  type LogSnapshot,
  subscribeLive,
} from "@reprise/log";
import {
  decodeEvent,
  type EventDraft,
  isTerminal,
  type KnownEvent,
  logSubject,
  peekSeq,
  RepriseError,
  type RequestedEvent,
  Transcript,
  type UnknownEvent,
  type WorkerId,
} from "@reprise/protocol";
import { planAttempt } from "./domain/plan-attempt.ts";
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

/**
 * One attempt at one generation: from the job to its end in the log, or to the point where somebody else has the say.
 *
 * The run follows its own log. Whatever ends it from outside (a cancel, a higher attempt) is an event there, seen on the live
 * feed or by the next append; it aborts the engine's request, and nothing more is written.
 */
export async function runGeneration(context: RunContext, job: Job, engine: Engine): Promise<RunResult> {
  const { log, worker, ackWaitMs, connection, onError, handover, appenders } = context;
  const { ref } = job;
  const snapshot = await loadLog(log, job);
  const requested = decodeEvent(snapshot.events[0]!) as RequestedEvent;
  const transcript = new Transcript();
  for (const payload of snapshot.events) transcript.apply(decodeEvent(payload));
  const plan = planAttempt(transcript, requested.policy, engine.canContinue(requested.request));
  if (plan.kind === "done") {
    await job.ack();
    return "nothing_to_do";
  }

  const abort = new AbortController();
  const checkpointer = createCheckpointer({
    publish: log.publish,
    ref,
    snapshot,
    maxBytes: log.maxCheckpointBytes,
    now: Date.now(),
  });
  const appender = new Appender({
    ...log,
    ref,
    head: { seq: peekSeq(snapshot.events.at(-1)!), streamSeq: snapshot.streamSeq },
    writer: randomUUID(),
    onStored: ({ payload, streamSeq }) => checkpointer.add(payload, streamSeq, Date.now()),
    isFence,
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
    if (plan.kind === "give_up") appender.append(workerLost(transcript));
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

/** The log, with its seq 0: written from the job if whoever created the generation died before it could. */
async function loadLog({ reader, publish }: GenerationLog, job: Job): Promise<LogSnapshot> {
  for (let tries = 0; tries < 5; tries++) {
    // A generation that has only been requested, the usual case, is read whole with one request.
    const last = await reader.readLast(job.ref);
    if (last && peekSeq(last.payload) === 0) return { events: [last.payload], streamSeq: last.streamSeq };
    if (last) return reader.readLog(job.ref);
    await publish(logSubject(job.ref), job.payload, { expectedLast: 0, writer: randomUUID() });
  }
  throw new RepriseError("broker_unavailable", "The generation's log can't be read or begun.");
}

function isFence(event: KnownEvent | UnknownEvent): boolean {
  return event.type === "generation.started" || isTerminal(event.type);
}

function workerLost({ attempt, usage }: Transcript): EventDraft {
  const message = `The worker was lost, and ${attempt} of the attempts that the policy allows are used.`;
  const { code, retryable } = new RepriseError("worker_lost", message);
  return { type: "generation.failed", error: { code, message, retryable }, usage };
}
