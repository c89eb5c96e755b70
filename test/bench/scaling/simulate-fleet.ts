import type { ModelObservation } from "@reprise/delivery/scaling";
import { createRandom } from "./create-random.ts";
import { EventQueue } from "./event-queue.ts";
import type { Arrival } from "./read-arrivals.ts";

/** What a worker and its engine are like. */
export interface WorkerModel {
  readonly slots: number;
  readonly prefillTokensPerSecond: number;
  /** Of one answer, however many run beside it. */
  readonly decodeTokensPerSecond: number;
  /** From the order of a worker to its first job: the least, and the most. */
  readonly coldStartMs: readonly [least: number, most: number];
}

/** Says how many workers there are to be, every `everyMs`. */
export interface Scaler {
  readonly everyMs: number;
  readonly wanted: (seen: ModelObservation, nowMs: number) => number;
}

export interface FleetOptions {
  /** By time. */
  readonly arrivals: readonly Arrival[];
  readonly worker: WorkerModel;
  /** Ready when the first request comes. */
  readonly workers: number;
  /** Default: the fleet stays as it is. */
  readonly scaler?: Scaler;
  /** Of the cold starts. */
  readonly seed: number;
}

export interface FleetRun {
  readonly jobs: number;
  /** Of each job, in the order in which they ended. */
  readonly waitMs: readonly number[];
  readonly firstTokenMs: readonly number[];
  /** From the order of each worker to its end, and for those that are left to the end of the last job. */
  readonly workerHours: number;
  readonly busySlotHours: number;
  /** Workers that are paid for: ready, starting and draining. */
  readonly sizes: readonly { readonly atMs: number; readonly workers: number }[];
}

interface Worker {
  running: number;
  state: "starting" | "ready" | "draining";
}

type Event =
  | { readonly kind: "arrival" }
  | { readonly kind: "end"; readonly worker: Worker }
  | { readonly kind: "ready"; readonly worker: Worker }
  | { readonly kind: "scale" };

const HOUR_MS = 3_600_000;

/**
 * Replays a trace against workers with slots and one queue, first come first served. A worker that is one too many takes no more jobs and goes when its last
 * one has ended. Only cold starts are random.
 */
export function simulateFleet({ arrivals, worker: model, workers, scaler, seed }: FleetOptions): FleetRun {
  const random = createRandom(seed);
  const events = new EventQueue<Event>();
  const fleet = new Set<Worker>();
  const queue: Arrival[] = [];
  let head = 0;
  const [waitMs, firstTokenMs]: [number[], number[]] = [[], []];
  const sizes: { atMs: number; workers: number }[] = [];
  let [nowMs, paidMs, slotMs, busy, taken, ended] = [0, 0, 0, 0, 0, 0];

  const pass = (atMs: number) => {
    paidMs += fleet.size * (atMs - nowMs);
    slotMs += busy * (atMs - nowMs);
    nowMs = atMs;
  };
  const resized = () => void sizes.push({ atMs: nowMs, workers: fleet.size });
  const inState = (state: Worker["state"]) => [...fleet].filter((one) => one.state === state);
  const leastBusy = (state: Worker["state"]) => {
    let least: Worker | undefined;
    for (const one of fleet)
      if (one.state === state && one.running < (least?.running ?? Number.POSITIVE_INFINITY)) least = one;
    return least;
  };
  const expect = (job: Arrival | undefined) => {
    if (job) events.add(job.atMs, { kind: "arrival" });
  };

  function give(): void {
    while (head < queue.length) {
      const free = leastBusy("ready");
      if (!free || free.running >= model.slots) return;
      const job = queue[head++]!;
      const prefillMs = (job.inputTokens / model.prefillTokensPerSecond) * 1e3;
      const decodeMs = (job.outputTokens / model.decodeTokensPerSecond) * 1e3;
      waitMs.push(nowMs - job.atMs);
      firstTokenMs.push(nowMs - job.atMs + prefillMs);
      free.running++;
      busy++;
      taken++;
      events.add(nowMs + prefillMs + decodeMs, { kind: "end", worker: free });
    }
  }

  function scaleTo(wanted: number): void {
    const lasting = fleet.size - inState("draining").length;
    for (let i = lasting; i < wanted; i++) {
      // One that drains need not be started.
      const back = leastBusy("draining");
      if (back) back.state = "ready";
      else start();
    }
    for (let i = lasting; i > wanted; i--) {
      const leaving = inState("starting").at(-1) ?? leastBusy("ready");
      if (!leaving) return;
      leaving.state = "draining";
      if (leaving.running === 0) fleet.delete(leaving);
    }
    resized();
  }

  function start(): void {
    const started: Worker = { running: 0, state: "starting" };
    fleet.add(started);
    const [least, most] = model.coldStartMs;
    events.add(nowMs + least + random() * (most - least), { kind: "ready", worker: started });
  }

  function observe(): ModelObservation {
    const ready = inState("ready");
    return {
      queued: queue.length - head,
      oldestMs: head < queue.length ? nowMs - queue[head]!.atMs : 0,
      workers: ready.length,
      slots: ready.length * model.slots,
      running: ready.reduce((sum, { running }) => sum + running, 0),
      taken,
      ended,
      slotMs,
    };
  }

  function happen(event: Event): void {
    switch (event.kind) {
      case "arrival":
        queue.push(arrivals[queue.length]!);
        return expect(arrivals[queue.length]);
      case "end":
        event.worker.running--;
        busy--;
        ended++;
        if (event.worker.state !== "draining" || event.worker.running > 0) return;
        fleet.delete(event.worker);
        return resized();
      case "ready":
        if (event.worker.state === "starting") event.worker.state = "ready";
        return;
      case "scale":
        if (!scaler || ended === arrivals.length) return;
        scaleTo(scaler.wanted(observe(), nowMs));
        events.add(nowMs + scaler.everyMs, { kind: "scale" });
    }
  }

  for (let i = 0; i < workers; i++) fleet.add({ running: 0, state: "ready" });
  resized();
  expect(arrivals[0]);
  if (scaler) events.add(0, { kind: "scale" });
  for (let next = events.next(); next && ended < arrivals.length; next = events.next()) {
    pass(next.atMs);
    happen(next.event);
    give();
  }
  return {
    jobs: ended,
    waitMs,
    firstTokenMs,
    workerHours: paidMs / HOUR_MS,
    busySlotHours: slotMs / HOUR_MS,
    sizes,
  };
}
