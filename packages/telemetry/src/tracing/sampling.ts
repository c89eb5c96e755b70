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

/** A parent whose place in a trace a span takes. */
export interface SampledParent {
  readonly sampled: boolean;
  /** Another party's: it names the trace, and neither its id nor its flag says whether the trace is exported. */
  readonly isForeign: boolean;
}

/**
 * Whether a span is exported, unless its outcome makes it so. Of the platform's own parents the flag is followed. Where another party names the trace, each entry into the platform is
 * decided anew, by chance: a party that could choose ids which are sampled would have all of its traces stored, and one that uses a single id would have all or none.
 * @param share of all traces, from 0 to 1
 * @param random from 0 to 1, without 1
 */
export function decideSampling(
  traceId: string,
  { parent, share }: { parent: SampledParent | undefined; share: number },
  random: () => number = Math.random,
): boolean {
  if (!parent) return isSampled(traceId, share);
  return parent.isForeign ? random() < share : parent.sampled;
}

/**
 * Whether a trace that begins here is exported: a function of its id alone, so that processes with the same share decide alike. The last
 * digits decide, which W3C Trace Context wants to be random.
 * @param share of all traces, from 0 to 1
 */
export function isSampled(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-DIGITS), 16) < share * RANGE;
}
