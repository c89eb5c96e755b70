import type { OpenJob } from "@reprise/jobs";
import {
  type EffectivePolicy,
  EXTERNAL_MODEL,
  type GenerationId,
  type Seq,
  type UnixMs,
  plusMs,
  NEVER,
} from "@reprise/protocol";

/*
 * When a generation that no worker ends has to be ended, and with which reason. Pure: what the broker holds and the broker's time go in,
 * so every reaper comes to the same conclusion, whether it has run for a week or has just been started.
 */

/** Why the reaper ends a generation. */
export const REAP_REASONS = ["queue_timeout", "total_timeout", "worker_lost", "abandoned"] as const;
export type ReapReason = (typeof REAP_REASONS)[number];

/**
 * The state of the log. `absent`: no events yet, for its creator died between its job and its seq 0. `gone`: its job
 * has left the queue.
 */
export type Phase = "absent" | "queued" | "begun" | "handed_over" | "ended" | "gone";

/** The part of a policy that a reaper acts on. */
export interface ReapPolicy {
  readonly on_disconnect: EffectivePolicy["on_disconnect"];
  readonly timeouts: Pick<EffectivePolicy["timeouts"], "queue" | "total" | "between_tokens">;
}

type WatchedTimeouts = Pick<ReapPolicy["timeouts"], "queue" | "total">;

/** One open job. All times by the broker's clock. */
export interface WatchedJob {
  readonly job: OpenJob;
  readonly queuedAtMs: UnixMs;
  readonly policy: Omit<ReapPolicy, "timeouts"> & { readonly timeouts: WatchedTimeouts };
  /** For how long a producer may be silent; undefined for a generation of the workers'. */
  readonly silenceMs?: number;
  /** When to inspect it again. */
  readonly inspectAtMs: UnixMs;
  /** Trace id of its request, if that was traced. */
  readonly traceId?: string;
  /** The turns of its conversation that have to end before it can begin. */
  readonly waitsFor?: readonly GenerationId[];
}

/** Result of an inspection, with its time. */
export interface Observation {
  readonly atMs: UnixMs;
  readonly phase: Phase;
  /** Only where absence ends the generation. */
  readonly absence?: Absence | undefined;
  /** When the last turn that it waits for has ended; `NEVER` while one is running. Read only if its time in the queue would otherwise be up. */
  readonly waitedUntilMs?: UnixMs | undefined;
  /** Undefined for a generation of the workers'. */
  readonly heard?: Heard | undefined;
}

/** When a producer was last heard, or could be for the first time, and the last event of the log then. */
export interface Heard {
  readonly atMs: UnixMs;
  readonly seq: Seq;
}

export interface Absence {
  /** Since when it has had no readers; undefined while it has some. */
  readonly sinceMs: UnixMs | undefined;
  /** True if it ever had a reader. */
  readonly wasRead: boolean;
  /** From when on it can be judged: before, nodes may have been unable to announce their readers. */
  readonly judgedFromMs: UnixMs;
}

/** Action of the reaper. `restore`: write the seq 0 that the job carries. `delete`: remove the job from the queue. */
export type Effect = { kind: "restore" } | { kind: "end" } | { kind: "delete" };

/** The job to keep watching, absent when all is done, and the effect to run. Another inspection follows an effect. */
export interface ReaperStep {
  readonly watched?: WatchedJob;
  readonly effect?: Effect;
}

/** Workers end their generations themselves when the total time is up; so much later it is plain that none is left. */
const GRACE_MS = 10_000;
/** Generations end without the reaper. After so long at the latest it inspects whether there is still anything to watch. */
const LOOK_EVERY_MS = 60_000;

export function plan(watched: WatchedJob, looked: Observation, leaseMs: number): ReaperStep {
  if (looked.phase === "gone") return {};
  if (looked.phase === "ended") return { watched, effect: { kind: "delete" } };
  const { atMs } = firstDeadline(watched, looked, leaseMs);
  if (atMs > looked.atMs)
    return { watched: { ...watched, inspectAtMs: lookAgainAt(looked.atMs, atMs, watched.silenceMs) } };
  return { watched, effect: { kind: looked.phase === "absent" ? "restore" : "end" } };
}

/** Why a generation has to be ended now; undefined when it need not be. */
export function reasonToEnd(
  watched: WatchedJob,
  looked: Observation,
  leaseMs: number,
): ReapReason | undefined {
  const { reason, atMs } = firstDeadline(watched, looked, leaseMs);
  return looked.phase === "ended" || atMs > looked.atMs ? undefined : reason;
}

/** A job that was just met; of its policy only what is needed is kept, for there may be many. */
export function watchJob(
  { ref, model, priority, streamSeq, queuedAtMs }: OpenJob & { queuedAtMs: UnixMs },
  { on_disconnect, timeouts: { queue, total, between_tokens } }: ReapPolicy,
  nowMs: UnixMs,
): WatchedJob {
  const policy = { on_disconnect, timeouts: { queue, total } };
  const deadline = plusMs(queuedAtMs, Math.min(queue.after_ms, total.after_ms));
  const absentAt = on_disconnect === "keep" ? NEVER : plusMs(nowMs, on_disconnect.cancel_after);
  const silenceMs = model === EXTERNAL_MODEL ? between_tokens.after_ms : undefined;
  const lookAtMs = lookAgainAt(nowMs, Math.min(deadline, absentAt), silenceMs);
  return {
    job: { ref, model, priority, streamSeq },
    queuedAtMs,
    policy,
    ...(silenceMs !== undefined && { silenceMs }),
    inspectAtMs: lookAtMs,
  };
}

interface Deadline {
  readonly reason: ReapReason;
  readonly atMs: UnixMs;
}

function firstDeadline(watched: WatchedJob, looked: Observation, leaseMs: number): Deadline {
  const deadlines = [...timeoutsOf(watched, looked), ...absenceOf(watched, looked, leaseMs)];
  return deadlines.reduce((first, deadline) => (deadline.atMs < first.atMs ? deadline : first));
}

/**
 * Returns when its time in the queue is up. For a turn that waits for others, the time begins when these have ended. A turn that is still running ends now at
 * the earliest, and nothing can be due before that.
 */
export function queueEndOf(
  { queuedAtMs, policy }: WatchedJob,
  { atMs, waitedUntilMs = queuedAtMs }: Pick<Observation, "atMs" | "waitedUntilMs">,
): UnixMs {
  const { after_ms: ms } = policy.timeouts.queue;
  if (waitedUntilMs > atMs) return plusMs(atMs, Math.max(1, ms));
  return plusMs(Math.max(queuedAtMs, waitedUntilMs), ms);
}

function timeoutsOf(watched: WatchedJob, looked: Observation): [Deadline, ...Deadline[]] {
  const { queuedAtMs, policy, silenceMs } = watched;
  const { phase } = looked;
  const { total } = policy.timeouts;
  const totalAt = plusMs(queuedAtMs, total.after_ms);
  // Nothing but a reaper ends it when its time is up.
  if (phase === "begun" && silenceMs !== undefined)
    return [
      { reason: "worker_lost", atMs: plusMs(looked.heard?.atMs ?? looked.atMs, Math.max(1, silenceMs)) },
      { reason: "total_timeout", atMs: totalAt },
    ];
  if (phase === "begun") return [{ reason: "worker_lost", atMs: plusMs(totalAt, GRACE_MS) }];
  // It waits for a slot, perhaps for long: one of low priority, or one whose worker was drained.
  if (phase === "handed_over") return [{ reason: "total_timeout", atMs: plusMs(totalAt, GRACE_MS) }];
  return [
    { reason: "queue_timeout", atMs: queueEndOf(watched, looked) },
    { reason: "total_timeout", atMs: totalAt },
  ];
}

/** A generation that never had a reader gets a lease for the first one to come: it has to be told the id before. */
function absenceOf({ policy }: WatchedJob, { atMs, absence }: Observation, leaseMs: number): Deadline[] {
  const { on_disconnect: answer } = policy;
  if (answer === "keep" || !absence) return [];
  const { sinceMs, wasRead, judgedFromMs } = absence;
  const after = wasRead ? answer.cancel_after : Math.max(answer.cancel_after, leaseMs);
  // A reader that is there now leaves now at the earliest: nothing can be due before that.
  const endAt =
    sinceMs === undefined ? plusMs(atMs, Math.max(1, after)) : Math.max(plusMs(sinceMs, after), judgedFromMs);
  return [{ reason: "abandoned", atMs: endAt }];
}

/** @param silenceMs for how long its producer may be silent, since the last event or the first */
function lookAgainAt(nowMs: UnixMs, deadlineMs: UnixMs, silenceMs = LOOK_EVERY_MS): UnixMs {
  const latestMs = plusMs(nowMs, Math.min(LOOK_EVERY_MS, silenceMs));
  return Math.min(latestMs, Math.max(plusMs(nowMs, 1), deadlineMs));
}
