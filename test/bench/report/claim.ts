/** One aim of the bench against what was measured. */
export interface Verdict {
  readonly scenario: string;
  readonly claim: string;
  readonly measured: number;
  /** The most that the claim allows, or the least. */
  readonly limit: number;
  readonly unit: string;
  readonly met: boolean;
}

/** On a machine where they all share two cores, percentiles of one run differ by half from those of the next. */
export const NOISE = 1.5;

export function atMost(
  scenario: string,
  claim: string,
  measured: number,
  limit: number,
  unit: string,
): Verdict {
  return { scenario, claim, measured, limit, unit, met: measured <= limit };
}

export function atLeast(
  scenario: string,
  claim: string,
  measured: number,
  limit: number,
  unit: string,
): Verdict {
  return { scenario, claim, measured, limit, unit, met: measured >= limit };
}
