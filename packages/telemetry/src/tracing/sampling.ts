/** How many values the digits that decide can have. */
const RANGE = 2 ** 52;
const DIGITS = 13;

/**
 * Whether a trace that begins here is exported: a function of its id alone, so that processes with the same share decide alike. The last
 * digits decide, which W3C Trace Context wants to be random.
 * @param share of all traces, from 0 to 1
 */
export function isSampled(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-DIGITS), 16) < share * RANGE;
}
