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

/** What counts as recovery from a worker's absence: the first event of the next attempt. None, for one that had just ended. */
export function reportTakeovers(trial: Trial, readers: readonly Reader[], since: number): void {
  for (const { record } of readers) {
    const ms = timeToEvent(record, since, ({ payload }) => payload.includes(STARTED));
    if (ms !== undefined) trial.recovered(ms);
  }
}
