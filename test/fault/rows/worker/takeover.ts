import type { Reader } from "../../readers/reader-record.ts";
import { endOf, workerOf } from "../../trial/acked.ts";
import { timeToEvent } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultWorld } from "../../world/fault-world.ts";
import type { ServiceSlot } from "../../world/service-slot.ts";

const STARTED = '"type":"generation.started"';

/** Those whose generation this worker runs at this moment. */
export function readersServedBy(
  world: FaultWorld,
  worker: ServiceSlot,
  readers: readonly Reader[],
): Reader[] {
  const id = worker.ready["worker"];
  return readers.filter(
    ({ record: { generation } }) => workerOf(world, generation) === id && !endOf(world, generation),
  );
}

/** The worker with the most to lose, and the readers of what it writes. */
export function findBusiest(
  world: FaultWorld,
  readers: readonly Reader[],
): { busiest: ServiceSlot; served: Reader[] } {
  return world.workers
    .map((worker) => ({ busiest: worker, served: readersServedBy(world, worker, readers) }))
    .reduce((best, other) => (other.served.length > best.served.length ? other : best));
}

/** The proof that a worker's absence has hit something. */
export const TAKEOVER_PROOF = "a generation that it ran gets a later attempt";

/**
 * The event that counts as recovery from a worker's absence, and as a hit: the first event of the next attempt. None, for a generation that had
 * just ended.
 */
export function reportTakeovers(trial: Trial, readers: readonly Reader[], since: number): void {
  for (const { record } of readers) {
    const ms = timeToEvent(record, since, ({ payload }) => payload.includes(STARTED));
    if (ms === undefined) continue;
    trial.hit();
    trial.recovered(ms);
  }
}
