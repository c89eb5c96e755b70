import type { Priority } from "@reprise/protocol";

/*
 * A lane is a tenant's jobs of one priority in a model's queue: the broker hands out jobs of one lane at a time. Here is what one worker knows of it.
 */

export type PullKind = "now" | "waiting";

/**
 * Why a pull ends before it has brought all jobs that it asked for. `empty`: its lane has no more. `cut`: for reasons of its own, and it may be made
 * again at once. `unavailable`: it would end in the same way again; the next renewal is soon enough.
 */
export type PullEndReason = "empty" | "cut" | "unavailable";

interface Pull {
  readonly kind: PullKind;
  readonly heardSeq: number;
  /** Number of jobs still asked for. */
  left: number;
}

export interface Lane {
  readonly priority: Priority;
  /** Its jobs that have a slot here, and those that had let go of theirs and want one again. */
  running: number;
  resuming: number;
  /** Jobs known to wait in the queue, an estimate: an empty lane puts it right. */
  known: number;
  /** The newest job heard of, and the newest that came here or is known to be gone. */
  heardSeq: number;
  seenSeq: number;
  /** A lane has one pull at a time: a job does not say which pull it is for. */
  pull: Pull | undefined;
  /** No pull is made before the next renewal. */
  isResting: boolean;
  /** When a job of it was last heard of, and whether an answer without jobs came so soon after that it is asked again. */
  heardAtMs: number;
  isDoubted: boolean;
  activeAtMs: number;
}

/**
 * For so long after a hint an answer without jobs does not count. The broker says that a job is stored, or given back, before the lane's consumer
 * knows of it, which in a cluster may be led by another server.
 */
const HINT_AHEAD_MS = 2_000;

export function createLane(priority: Priority): Lane {
  return {
    priority,
    running: 0,
    resuming: 0,
    known: 0,
    heardSeq: 0,
    seenSeq: 0,
    pull: undefined,
    isResting: false,
    heardAtMs: Number.NEGATIVE_INFINITY,
    isDoubted: false,
    activeAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** @param streamSeq undefined for a job that a worker has given back: it is at its old place */
export function hear(lane: Lane, streamSeq: number | undefined, nowMs: number): void {
  lane.heardAtMs = nowMs;
  if (streamSeq === undefined) lane.known++;
  else lane.heardSeq = Math.max(lane.heardSeq, streamSeq);
}

/** Jobs that were heard of still exist as far as is known, and the next jobs may have the places of earlier ones. */
export function forgetPlaces(lane: Lane): void {
  if (lane.heardSeq > lane.seenSeq) lane.known = Math.max(lane.known, 1);
  lane.heardSeq = 0;
  lane.seenSeq = 0;
}

/** Counts jobs of the lane's pull that have come, or will not come. */
export function answerPull(lane: Lane, jobs: number): void {
  if (!lane.pull) return;
  lane.pull.left -= jobs;
  if (lane.pull.left === 0) lane.pull = undefined;
}

export function endPull(lane: Lane, reason: PullEndReason, nowMs: number): void {
  const { pull } = lane;
  if (!pull) return;
  lane.pull = undefined;
  if (reason === "unavailable") lane.isResting = true;
  if (reason !== "empty") return forgetPlaces(lane);
  lane.known = 0;
  lane.isDoubted = nowMs - lane.heardAtMs < HINT_AHEAD_MS;
  // A job that was stored after a pull may be heard of before the answer to the pull.
  lane.seenSeq = Math.max(lane.seenSeq, pull.kind === "now" ? pull.heardSeq : lane.heardSeq);
}

/** A second has passed. */
export function renewLane(lane: Lane): void {
  lane.isResting = false;
  if (lane.isDoubted) lane.known = Math.max(lane.known, 1);
  lane.isDoubted = false;
}

/** Slots that are for jobs which the lane's pull may bring, and for no others. */
export function reservedFor({ pull }: Lane): number {
  return pull?.kind === "now" ? pull.left : 0;
}

/** True if one more job is worth asking for. While a pull waits for the lane's jobs, the broker hands them out by itself. */
export function hasJobs({ known, heardSeq, seenSeq, pull, isResting }: Lane): boolean {
  if (isResting || pull?.kind === "waiting") return false;
  const asked = pull?.left ?? 0;
  return known > asked || (heardSeq > seenSeq && asked === 0);
}

export function isIdle(lane: Lane): boolean {
  return lane.running === 0 && lane.resuming === 0 && !lane.pull && !hasJobs(lane);
}
