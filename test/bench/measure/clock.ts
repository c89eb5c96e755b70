import { setTimeout as delay } from "node:timers/promises";

/**
 * Microseconds of the machine's monotonic clock: the same in every process, and not changed when the time of day is set. A
 * stamp made in one process can be compared with the time of arrival in another.
 */
export function nowMicros(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e6 + Math.round(nanos / 1e3);
}

/**
 * Sleeps until then.
 * @throws the signal's reason, as soon as it aborts
 */
export async function untilMicros(atMicros: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(0, (atMicros - nowMicros()) / 1e3), undefined, { signal });
}
