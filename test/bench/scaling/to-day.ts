import { createRandom } from "./create-random.ts";
import type { Arrival } from "./read-arrivals.ts";

const HOURS = 24;
const HOUR_MS = 3_600_000;
/** The share of the requests that is left at the quietest time of the day. */
const NIGHT = 0.1;

/** The hour again and again, of which requests are left out: all are there at noon, and a tenth at midnight. */
export function toDay(hour: readonly Arrival[], seed: number): Arrival[] {
  const random = createRandom(seed);
  return Array.from({ length: HOURS }, (_, i) => i * HOUR_MS).flatMap((startMs) =>
    hour
      .map((arrival) => ({ ...arrival, atMs: startMs + arrival.atMs }))
      .filter(({ atMs }) => {
        const noon = (1 - Math.cos((2 * Math.PI * atMs) / (HOURS * HOUR_MS))) / 2;
        return random() < NIGHT + (1 - NIGHT) * noon;
      }),
  );
}
