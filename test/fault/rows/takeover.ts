import type { Reader } from "../readers/reader-record.ts";
import { timeToEvent } from "../trial/recovery.ts";
import type { Trial } from "../trial/trial.ts";
import type { ServiceSlot } from "../world/service-slot.ts";

const STARTED = '"type":"generation.started"';

/** Those whose generation this worker runs at this moment. */
export function readersServedBy(worker: ServiceSlot, readers: readonly Reader[]): Reader[] {
  const id = worker.ready["worker"];
  return readers.filter(({ record }) => !record.isDone && record.worker === id);
}

/** The worker with the most to lose, and those who read what it writes. */
export function findBusiest(
  workers: readonly ServiceSlot[],
  readers: readonly Reader[],
): { busiest: ServiceSlot; served: Reader[] } {
  return workers
    .map((worker) => ({ busiest: worker, served: readersServedBy(worker, readers) }))
    .reduce((best, other) => (other.served.length > best.served.length ? other : best));
}

/** What counts as recovery from a worker's absence: the first event of the next attempt. None, for one that had just ended. */
export function reportTakeovers(trial: Trial, readers: readonly Reader[], since: number): void {
  for (const { record } of readers) {
    const ms = timeToEvent(record, since, ({ payload }) => payload.includes(STARTED));
    if (ms !== undefined) trial.recovered(ms);
  }
}
