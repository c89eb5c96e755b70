import { REPRISE } from "../conventions/http.ts";

/** Which shares of the traces that begin here are exported, from 0 to 1. */
export interface SampleShares {
  readonly share: number;
  /** Of tenants that have another one. */
  readonly ofTenant: ReadonlyMap<string, number>;
}

/** @param attributes of the trace's first span */
export function shareOf(
  { share, ofTenant }: SampleShares,
  { [REPRISE.tenant]: tenant }: Readonly<Record<string, unknown>>,
): number {
  return (typeof tenant === "string" ? ofTenant.get(tenant) : undefined) ?? share;
}

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
