import { decodeEvent, type KnownEvent, logSubject } from "@reprise/protocol";
import type { AckedMessage } from "@reprise/testkit";
import type { FaultWorld } from "../world/fault-world.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Trial } from "./trial.ts";

/* What the broker has acknowledged of a generation by now. The proxies see it in this process, before any reader is told. */

const END = /^\{"seq":[0-9]+,"type":"generation\.(?:completed|failed|cancelled)"/;
const STARTED = /^\{"seq":[0-9]+,"type":"generation\.started"/;

function ackedOf({ broker }: FaultWorld, { ref }: TestedGeneration): readonly AckedMessage[] {
  return broker.acks.of(logSubject(ref));
}

/** The acknowledgement of its terminal event; undefined while there is none. */
export function endOf(world: FaultWorld, generation: TestedGeneration): AckedMessage | undefined {
  return ackedOf(world, generation).find(({ payload }) => END.test(payload));
}

/** The id of the worker that has begun the last attempt. */
export function workerOf(world: FaultWorld, generation: TestedGeneration): string | undefined {
  const started = ackedOf(world, generation).findLast(({ payload }) => STARTED.test(payload));
  return started && (decodeEvent(started.payload) as KnownEvent & { worker: string }).worker;
}

/** Number of stored tokens of text, rewound or not. */
export function countTokens(world: FaultWorld, generation: TestedGeneration): number {
  return ackedOf(world, generation).reduce((sum, { payload }) => {
    const event = decodeEvent(payload) as KnownEvent;
    return event.type === "output.delta" ? sum + (event.tokens ?? 1) : sum;
  }, 0);
}

/** Counts a hit for each generation whose end was stored after this moment, so that it was under way then. @param at by `performance.now()` */
export function hitRunning(trial: Trial, generations: Iterable<TestedGeneration>, at: number): void {
  for (const generation of new Set(generations)) {
    const end = endOf(trial.world, generation);
    if (end && end.at > at) trial.hit();
  }
}
