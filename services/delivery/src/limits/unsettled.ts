export interface EndedReservation {
  /** What was reserved. */
  readonly units: number;
  readonly used: number;
  readonly elapsedMs: number;
  readonly windowMs: number;
}

/**
 * What is left to count of a generation that has ended. Reserved units come back by themselves while it runs: only the rest of those that it
 * did not use is given back. What it used beyond them is owed.
 */
export function unsettled({ units, used, elapsedMs, windowMs }: EndedReservation): number {
  if (used >= units) return used - units;
  return -Math.floor((units - used) * Math.max(0, 1 - elapsedMs / windowMs));
}
