import { pause } from "@reprise/async";
import * as conversations from "@reprise/conversations";
import { toRepriseError } from "@reprise/protocol";
import { finishRun } from "./finish-run.ts";
import type { Run } from "./open-run.ts";
import type { RunResult, StalePlan } from "./run-context.ts";
import type { Wait, Waiting } from "./settle-request.ts";

/** Verdicts are looked at this often while moderation holds the end of an earlier turn. */
const HELD_MS = 1_000;
const AWAY_MS = 1_000;
/** After so long a job comes back that was given back for want of room. */
const NO_ROOM_MS = 5_000;

/**
 * Waits until the turns have ended that this one waits for, and then for a slot. Meanwhile the worker keeps the job, but without a slot: those turns
 * may need it. If this worker has no room for waiting jobs, it gives the job back, so that the others can come.
 * @returns a stale plan if all have ended: the run is then planned again
 */
export async function awaitTurns(
  run: Run,
  { generations, waiting: first }: Wait,
): Promise<RunResult | StalePlan> {
  const { job, log, stop } = run;
  run.request.release();
  job.park();
  for (let waiting: Waiting | undefined = first; waiting && !stop.aborted;) {
    if (!job.hasRoomToWait()) {
      job.release(NO_ROOM_MS);
      return "handed_over";
    }
    await untilChanged(run, waiting);
    if (!stop.aborted) waiting = await lookAgain(run, generations, waiting);
  }
  await job.unpark(stop);
  if (stop.aborted) return finishRun(run, undefined);
  return { snapshot: await log.snapshot() };
}

async function lookAgain(
  { context, job, stop }: Run,
  generations: Wait["generations"],
  before: Waiting,
): Promise<Waiting | undefined> {
  try {
    const waited = await conversations.readWaitedTurns(context.log, job.ref.tenant, generations);
    return waited.kind === "ended" ? undefined : waited;
  } catch (error) {
    // What is wrong with them the next plan finds, too.
    if (!toRepriseError(error).retryable) return undefined;
    await pause(AWAY_MS, stop);
    return before;
  }
}

function untilChanged({ context, job, stop }: Run, { kind, generation }: Waiting): Promise<void> {
  if (kind === "held") return pause(HELD_MS, stop);
  const { connection, log, onError } = context;
  const ref = { tenant: job.ref.tenant, generation };
  return conversations.untilTurnEnded(ref, {
    connection,
    log,
    onError,
    goesOn: () => job.hasRoomToWait(),
    signal: stop,
  });
}
