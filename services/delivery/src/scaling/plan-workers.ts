import { addTo, type DecayingSums, NO_SUMS, rateOf } from "./decaying-sums.ts";
import type { WorkerScaling } from "./scale-settings.ts";
import { slotsForLoad } from "./slots-for-load.ts";
import { stabilise, type Wanted } from "./stabilise.ts";

/** A model's queue and its workers at one moment. */
export interface ModelObservation {
  /** Jobs that wait for a slot. */
  readonly queued: number;
  /** How long the oldest of them has waited; 0 for none. */
  readonly oldestMs: number;
  readonly workers: number;
  readonly slots: number;
  /** Slots that have a job. */
  readonly running: number;
  /** Jobs that were given a slot, since any moment that stays the same: these three only grow. */
  readonly taken: number;
  /** Jobs that have let go of their slot. */
  readonly ended: number;
  /** Milliseconds in which slots had jobs, over all slots. */
  readonly slotMs: number;
}

/** What is remembered of a model between two plans. */
export interface ModelState {
  readonly atMs: number;
  readonly seen: Pick<ModelObservation, "queued" | "taken" | "ended" | "slotMs">;
  readonly fast: DecayingSums;
  readonly slow: DecayingSums;
  readonly slotsPerWorker: number;
  /** Since when more workers have been wanted than there are; undefined: there are enough. */
  readonly shortSinceMs: number | undefined;
  readonly wanted: Wanted;
}

export interface WorkerPlan {
  readonly wantedWorkers: number;
  readonly arrivalsPerSecond: number;
  /** How long a job has a slot. */
  readonly serviceMs: number;
  /** Slots that are busy on average, at this rate. */
  readonly load: number;
  readonly slotsForLoad: number;
  readonly slotsForBacklog: number;
  readonly slotsPerWorker: number;
  /** Which term decides: the slots that have jobs, load and backlog, an earlier plan within the window, or a bound. */
  readonly because: "running" | "load" | "backlog" | "wait" | "stabilisation" | "min" | "max";
}

/** A burst has to be seen in seconds; how long jobs take changes slowly, and few end in a second. */
const FAST_MS = 30_000;
const SLOW_MS = 300_000;
/** Jobs that wait beside so many free slots are kept by a limit of their tenant: more slots would stay free too. */
const FREE_SHARE = 0.25;

/**
 * How many workers a model needs. By Little's law the load is arrivals × the time that a job has a slot. The slots for it are those with which
 * the target wait is met, and for the backlog so many more that it is gone in the drain time; the backlog is the one that there will be when
 * a worker that is started now is ready.
 *
 * What is wanted is a function of the load and not of the workers that were wanted before, so workers that are starting are not counted twice.
 */
export function planWorkers(
  earlier: ModelState | undefined,
  seen: ModelObservation,
  nowMs: number,
  settings: WorkerScaling,
): { state: ModelState; plan: WorkerPlan } {
  const { fast, slow, atMs } = count(earlier, seen, nowMs);
  const { min, max } = settings;
  const slotsPerWorker =
    seen.workers > 0 && seen.slots > 0
      ? seen.slots / seen.workers
      : (earlier?.slotsPerWorker ?? settings.slots);
  // As if one job of the assumed time had ended beside those that have.
  const serviceMs = (Math.max(0, slow.slotMs) + settings.serviceMs) / (Math.max(0, slow.ended) + 1);
  const perMs = Math.max(rateOf(fast, FAST_MS), rateOf(slow, SLOW_MS));
  const load = perMs * serviceMs * (1 + settings.headroom);
  const mostSlots = Math.ceil(max * slotsPerWorker);
  const forLoad = slotsForLoad(load, serviceMs, settings.target, mostSlots);
  // Of workers that were asked for a while ago, only the rest of their start is to come.
  const startMs = Math.max(0, settings.coldStartMs - (nowMs - (earlier?.shortSinceMs ?? nowMs)));
  const gathered = backlog(seen, (perMs * serviceMs - seen.slots) / serviceMs, startMs);
  const forBacklog = (gathered * serviceMs) / settings.drainMs;
  const forWait = isBacklogLate(seen, settings) ? seen.slots + slotsPerWorker : 0;
  const slots = Math.max(seen.running, forLoad + forBacklog, forWait);
  const needed = Math.ceil(Math.min(slots, mostSlots) / slotsPerWorker);
  // A process that has just been started does not know what was needed lately: what there is counts as needed.
  const before = earlier?.wanted ?? [{ atMs: nowMs, count: seen.workers }];
  const wanted = stabilise(before, needed, nowMs, settings.stabilisationMs);
  const most = wanted[0]?.count ?? needed;
  const wantedWorkers = Math.min(max, Math.max(min, most));
  const reason = (): WorkerPlan["because"] => {
    if (most <= min && needed < min) return "min";
    if (most > max || slots > mostSlots) return "max";
    if (most > needed) return "stabilisation";
    if (forWait === slots) return "wait";
    if (seen.running > forLoad + forBacklog) return "running";
    return forBacklog > forLoad ? "backlog" : "load";
  };
  const isShort = wantedWorkers > seen.workers;
  const shortSinceMs = isShort ? (earlier?.shortSinceMs ?? nowMs) : undefined;
  return {
    state: { atMs, seen, fast, slow, slotsPerWorker, shortSinceMs, wanted },
    plan: {
      wantedWorkers,
      arrivalsPerSecond: perMs * 1e3,
      serviceMs,
      load: perMs * serviceMs,
      slotsForLoad: forLoad,
      slotsForBacklog: forBacklog,
      slotsPerWorker,
      because: reason(),
    },
  };
}

/** Jobs have arrived that were taken, or that wait now and did not before. Differences may be negative for a moment, for the two are not read at once. */
function count(earlier: ModelState | undefined, seen: ModelObservation, nowMs: number) {
  if (!earlier) return { fast: NO_SUMS, slow: NO_SUMS, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - earlier.atMs);
  const taken = Math.max(0, seen.taken - earlier.seen.taken);
  const happened = {
    jobs: taken + seen.queued - earlier.seen.queued,
    slotMs: Math.max(0, seen.slotMs - earlier.seen.slotMs),
    ended: Math.max(0, seen.ended - earlier.seen.ended),
  };
  return {
    fast: addTo(earlier.fast, happened, { elapsedMs, overMs: FAST_MS }),
    slow: addTo(earlier.slow, happened, { elapsedMs, overMs: SLOW_MS }),
    atMs: earlier.atMs + elapsedMs,
  };
}

/**
 * The jobs that will wait when a worker that is started now is ready.
 * @param growth jobs a millisecond: slots beyond the load work off what waits, and a load beyond the slots adds to it
 */
function backlog(seen: ModelObservation, growth: number, startMs: number): number {
  if (isKeptByLimits(seen)) return 0;
  const free = Math.max(0, seen.slots - seen.running);
  return Math.max(0, seen.queued - free + growth * startMs);
}

/** Whether a job waits for longer than any backlog should: then the slots that the load needs are more than the formula has. */
function isBacklogLate(seen: ModelObservation, { drainMs, coldStartMs }: WorkerScaling): boolean {
  return !isKeptByLimits(seen) && seen.oldestMs > drainMs + coldStartMs;
}

function isKeptByLimits({ slots, running }: ModelObservation): boolean {
  return slots > 0 && slots - running > slots * FREE_SHARE;
}
