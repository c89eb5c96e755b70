import { createRandom } from "../scaling/create-random.ts";
import { EventQueue } from "../scaling/event-queue.ts";

export interface PathOptions {
  readonly generations: number;
  readonly tokensPerSecond: number;
  /** Each station's mean time for an event, in milliseconds of its core. */
  readonly serviceMs: { readonly worker: number; readonly stream: number; readonly delivery: number };
  /** The stream has no leader then. */
  readonly election?: { readonly atMs: number; readonly lastsMs: number };
  readonly warmUpMs: number;
  readonly lastsMs: number;
  readonly seed: number;
}

export interface PathRun {
  /** From when a token was due to its write to a reader, in the order of writing. */
  readonly latencies: readonly { readonly dueMs: number; readonly latencyMs: number }[];
  readonly events: number;
  readonly tokens: number;
  /** The share of the measured time that the busiest station works. */
  readonly busiest: number;
}

interface Generation {
  /** When the tokens that wait for the append under way were due. */
  waiting: number[];
  underWay: boolean;
}

type Step =
  | { readonly kind: "token"; readonly of: Generation }
  | {
      readonly kind: "sent" | "stored" | "written";
      readonly of: Generation;
      readonly dues: readonly number[];
    };

/**
 * One worker process, the leader of one stream and one node of delivery, each first come first served, with service times that are exponential around
 * the mean. As in the platform, a generation has one append under way, and its tokens that are due meanwhile become the next event: a station
 * that is late gets fewer and larger events, not a growing queue. What an event of several tokens costs more than one of a single token is left out.
 */
export function simulatePath(options: PathOptions): PathRun {
  const { generations, tokensPerSecond, serviceMs, election, warmUpMs, lastsMs, seed } = options;
  const random = createRandom(seed);
  const steps = new EventQueue<Step>();
  const latencies: { dueMs: number; latencyMs: number }[] = [];
  const worker = createStation(serviceMs.worker, random);
  const stream = createStation(serviceMs.stream, random, election);
  const delivery = createStation(serviceMs.delivery, random);
  let [events, tokens] = [0, 0];

  const send = (of: Generation, nowMs: number) => {
    if (of.underWay || of.waiting.length === 0) return;
    const dues = of.waiting;
    of.waiting = [];
    of.underWay = true;
    steps.add(worker.serve(nowMs), { kind: "sent", of, dues });
  };

  const interval = 1e3 / tokensPerSecond;
  for (let i = 0; i < generations; i++)
    steps.add(random() * interval, { kind: "token", of: { waiting: [], underWay: false } });

  for (let next = steps.next(); next; next = steps.next()) {
    const { atMs, event: step } = next;
    switch (step.kind) {
      case "token":
        step.of.waiting.push(atMs);
        if (atMs + interval < lastsMs) steps.add(atMs + interval, step);
        send(step.of, atMs);
        break;
      case "sent":
        steps.add(stream.serve(atMs), { ...step, kind: "stored" });
        break;
      case "stored":
        step.of.underWay = false;
        steps.add(delivery.serve(atMs), { ...step, kind: "written" });
        send(step.of, atMs);
        break;
      case "written": {
        const measured = step.dues.filter((dueMs) => dueMs >= warmUpMs);
        if (measured.length === 0) break;
        events++;
        tokens += measured.length;
        for (const dueMs of measured) latencies.push({ dueMs, latencyMs: atMs - dueMs });
      }
    }
  }
  const busiest = Math.max(...[worker, stream, delivery].map((station) => station.busyMs())) / lastsMs;
  return { latencies, events, tokens, busiest };
}

interface Station {
  /** When what comes now is done. To be called in the order of time. */
  serve(nowMs: number): number;
  busyMs(): number;
}

function createStation(meanMs: number, random: () => number, away?: PathOptions["election"]): Station {
  let [freeAtMs, busyMs] = [0, 0];
  return {
    serve(nowMs) {
      const takes = -meanMs * Math.log(1 - random());
      let startMs = Math.max(nowMs, freeAtMs);
      if (away && startMs >= away.atMs && startMs < away.atMs + away.lastsMs)
        startMs = away.atMs + away.lastsMs;
      busyMs += takes;
      freeAtMs = startMs + takes;
      return freeAtMs;
    },
    busyMs: () => busyMs,
  };
}
