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
  readonly because: "running" | "load" | "backlog" | "stabilisation" | "min" | "max";
}

/** A burst has to be seen in seconds; how long jobs take changes slowly, and few end in a second. */
const FAST_MS = 30_000;
const SLOW_MS = 300_000;
/** Jobs that wait beside so many free slots are kept by a limit of their tenant: more slots would stay free too. */
const FREE_SHARE = 0.25;
/** The least part of the drain time that is left for the backlog, however old its oldest job is. */
const LEAST_DRAIN = 0.25;

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
  const forBacklog =
    (backlog(seen, perMs * serviceMs, serviceMs, settings) * serviceMs) / drainMs(seen, settings);
  const slots = Math.max(seen.running, forLoad + forBacklog);
  const needed = Math.ceil(Math.min(slots, mostSlots) / slotsPerWorker);
  const wanted = stabilise(earlier?.wanted ?? [], needed, nowMs, settings.stabilisationMs);
  const most = wanted[0]?.count ?? needed;
  const wantedWorkers = Math.min(max, Math.max(min, most));
  const reason = (): WorkerPlan["because"] => {
    if (most < min) return "min";
    if (most > max || slots > mostSlots) return "max";
    if (most > needed) return "stabilisation";
    if (seen.running > forLoad + forBacklog) return "running";
    return forBacklog > forLoad ? "backlog" : "load";
  };
  return {
    state: { atMs, seen, fast, slow, slotsPerWorker, wanted },
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

/** The jobs that will wait when a worker that is started now is ready: slots beyond the load work off what waits, and a load beyond the slots adds to it. */
function backlog(
  { queued, slots, running }: ModelObservation,
  load: number,
  serviceMs: number,
  { coldStartMs }: WorkerScaling,
): number {
  const free = Math.max(0, slots - running);
  if (slots > 0 && free > slots * FREE_SHARE) return 0;
  return Math.max(0, queued - free + ((load - slots) * coldStartMs) / serviceMs);
}

function drainMs({ oldestMs }: ModelObservation, settings: WorkerScaling): number {
  return Math.max(settings.drainMs * LEAST_DRAIN, settings.drainMs - oldestMs);
}
