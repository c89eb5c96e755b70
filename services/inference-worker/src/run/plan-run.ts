import { announceEnd, storeCheckpoint, toEffectivePolicy } from "@reprise/stream";
import { isHeld, type Job } from "@reprise/jobs";
import {
  decodeEvent,
  DEFAULT_POLICY,
  effectiveRequest,
  failedDraft,
  isCapability,
  parseWorkerId,
  peekSeq,
  RepriseError,
  type RequestedEvent,
  type Transcript,
  type UnixMs,
} from "@reprise/protocol";
import { interruptedDraft } from "../domain/after-turn.ts";
import { firstUnmet, fitModel } from "../domain/fit-model.ts";
import { type Plan, planAttempt, toPlanContext } from "../domain/plan-attempt.ts";
import type { RunTranscript } from "../domain/run-transcript.ts";
import type { ServedModel } from "../model-queues.ts";
import { loadLog } from "./log/load-log.ts";
import { type FirstStep, openRun, type Run } from "./open-run.ts";
import type { RunContext, StalePlan } from "./run-context.ts";
import { settleRequest } from "./settle-request.ts";
import { foldLog } from "./log/run-log.ts";

const RETRY_AFTER_MS = 1_000;

interface PlanInput {
  readonly job: Job;
  readonly model: ServedModel;
  /** The plan before this one. Its log is taken out of it: the run, which may take hours, has a copy. */
  readonly stale: StalePlan;
  /** When the worker took the job. */
  readonly takenAtMs: UnixMs;
}

/**
 * The first step: reads the log, decides what is left to do, and opens the run that does it.
 * @returns a result where nothing is to be run
 */
export async function planRun(
  context: RunContext,
  { job, model: served, stale, takenAtMs }: PlanInput,
): Promise<Run | "held" | "nothing_to_do"> {
  const { snapshot = await loadLog(context, job) } = stale;
  stale.snapshot = undefined;
  const stored = readRequested(snapshot.events[0]);
  const transcript = foldLog(snapshot.events);
  const isOpen = stored && !transcript.ended;
  const settled = isOpen ? await settleRequest(context, job.ref, stored) : undefined;
  const requested = settled?.kind === "ready" ? settled.requested : stored;
  const model = requested ? fitModel(served, requested) : served;
  const plan = settled?.kind === "fail" ? settled : toPlan(job, model, requested, transcript);
  if (plan.kind === "done") {
    // The process that ended it may have died before the final checkpoint, and before it announced the end.
    const { publishCheckpoint: publish, maxCheckpointBytes: maxBytes } = context.log;
    await storeCheckpoint({ publish, ref: job.ref, snapshot, maxBytes });
    announceEnd(context.connection, job.ref, transcript.usage);
    await job.ack();
    return "nothing_to_do";
  }
  if (await isHeldAlready(context, job, transcript)) return "held";
  const { policy = DEFAULT_POLICY } = requested ?? {};
  const isToWait = settled?.kind === "wait" && plan.kind === "begin";
  const first = isToWait ? settled : toFirstStep(plan, transcript);
  const { usage: used, consumedBytes } = transcript;
  const planned = { job, model, snapshot, used, consumedBytes, requested, policy, first, takenAtMs };
  return openRun(context, planned);
}

/**
 * The request; undefined where that has expired, and the log's first event is another one. A policy of a later version is not run by a
 * guess: the job goes back to the queue, for a newer worker. So does one with a request of a later version.
 * @throws RepriseError `policy_unsupported`, `request_unsupported`
 */
function readRequested(first: Uint8Array | undefined): RequestedEvent | undefined {
  if (!first || peekSeq(first) !== 0) return undefined;
  const event = decodeEvent(first);
  if (event.type !== "generation.requested") {
    throw new RepriseError("protocol_violation", "A generation's first event is not its request.");
  }
  assertKnownNeeds(event);
  return { ...event, policy: toEffectivePolicy(event) };
}

/** A request of a later version may say more than this one reads: what it does not know it would leave out in silence. */
function assertKnownNeeds({ needs = [] }: RequestedEvent): void {
  const unknown = needs.find((name) => !isCapability(name));
  if (unknown === undefined) return;
  const message = `This worker is older than the request and does not know ${unknown}; a newer one can run it.`;
  throw new RepriseError("request_unsupported", message, { retryAfterMs: RETRY_AFTER_MS });
}

function toPlan(
  { model: queue }: Job,
  model: ServedModel,
  requested: RequestedEvent | undefined,
  transcript: RunTranscript,
): Plan {
  if (transcript.ended) return { kind: "done" };
  if (!requested) {
    return {
      kind: "fail",
      error: new RepriseError("cursor_expired", "The generation's request is no longer kept."),
    };
  }
  // Two creates with one key and different models: the job of one and seq 0 of the other have won.
  if (requested.request.model !== queue) {
    const message = "The Idempotency-Key was used for two models at once.";
    return { kind: "fail", error: new RepriseError("idempotency_conflict", message) };
  }
  const unmet = firstUnmet(model.engine, requested);
  if (unmet !== undefined) {
    const message = `The engine does not have the capability ${unmet}.`;
    return { kind: "fail", error: new RepriseError("capability_unsupported", message) };
  }
  if (transcript.interrupt && !requested.request.input_stream && !transcript.halted)
    return { kind: "interrupted" };
  const { policy } = requested;
  return planAttempt(
    transcript,
    toPlanContext({ request: () => effectiveRequest(requested), policy }, model),
  );
}

function toFirstStep(plan: Exclude<Plan, { kind: "done" }>, transcript: RunTranscript): FirstStep {
  const { usage } = transcript;
  switch (plan.kind) {
    case "begin":
      return plan;
    case "fail":
      return { kind: "end", draft: failedDraft(plan.error, usage) };
    case "interrupted":
      return { kind: "end", draft: interruptedDraft(transcript) };
    case "halt":
      return {
        kind: "end",
        draft: { type: "generation.completed", finish_reason: "content_filter", usage },
      };
  }
}

/**
 * True if a worker runs the generation already. This worker knows by itself, without the log: a store that has lost the log's end
 * may have lost the start of this worker. Other workers are asked, unless they have let go of the generation: such a store has also
 * forgotten the number of deliveries of a job.
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
