/** Sums of what happened lately, where what lies `overMs` back counts a third of what happens now (1/e). */
export interface DecayingSums {
  readonly jobs: number;
  readonly slotMs: number;
  readonly ended: number;
  /** For how long it has been counted. */
  readonly ageMs: number;
}

export const NO_SUMS: DecayingSums = { jobs: 0, slotMs: 0, ended: 0, ageMs: 0 };

export function addTo(
  sums: DecayingSums,
  happened: Omit<DecayingSums, "ageMs">,
  { elapsedMs, overMs }: { readonly elapsedMs: number; readonly overMs: number },
): DecayingSums {
  const kept = Math.exp(-elapsedMs / overMs);
  // What happened is spread over the time: its earlier part has decayed already.
  const part = elapsedMs > 0 ? (overMs * (1 - kept)) / elapsedMs : 1;
  return {
    jobs: sums.jobs * kept + happened.jobs * part,
    slotMs: sums.slotMs * kept + happened.slotMs * part,
    ended: sums.ended * kept + happened.ended * part,
    ageMs: sums.ageMs + elapsedMs,
  };
}

/** Jobs a millisecond: unbiased from the first interval on, though the sums begin with nothing. */
export function rateOf({ jobs, ageMs }: DecayingSums, overMs: number): number {
  return ageMs > 0 ? Math.max(0, jobs) / (overMs * -Math.expm1(-ageMs / overMs)) : 0;
}
