export interface WaitTarget {
  /** The longest that a job of the share may wait for a slot. */
  readonly waitMs: number;
  /** Which share of the jobs waits no longer, from 0 to 1 and less than 1. */
  readonly share: number;
}

/**
 * The fewest slots with which that share of the jobs waits no longer than the target, for jobs that come at random (M/M/c, Erlang C).
 * Costs a step for each slot.
 * @param load the slots that are busy on average: jobs a second × seconds of a slot for each (Little's law)
 * @param most where the search ends, and what is returned when no fewer are enough
 */
export function slotsForLoad(
  load: number,
  serviceMs: number,
  { waitMs, share }: WaitTarget,
  most: number,
): number {
  if (load <= 0) return 0;
  /** The share of jobs that would be refused if none could wait (Erlang B). */
  let refused = 1;
  for (let slots = 1; slots < most; slots++) {
    refused = (load * refused) / (slots + load * refused);
    if (slots <= load) continue;
    const waits = refused / (1 - (load / slots) * (1 - refused));
    if (waits * Math.exp((-(slots - load) * waitMs) / serviceMs) <= 1 - share) return slots;
  }
  return most;
}
