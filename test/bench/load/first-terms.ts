export interface FirstOrder {
  url: string;
  apiKey: string;
  tenant: string;
  shards: number;
  /** To watch what the platform says to its broker; without it there are no terms. */
  natsUrl?: string;
  /** Calls that count, of each kind. */
  calls: number;
  /** Between two calls. */
  gapMs: number;
}

/** Milliseconds of each call. */
export interface FirstMeasured {
  /** A create that is answered with the generation. */
  readonly creates: readonly number[];
  /** A create that is answered with its stream, to the first `output.delta`. */
  readonly firsts: readonly number[];
  /** The same by term, of the calls in which both ends of it were seen. */
  readonly terms: Readonly<Record<FirstTerm, readonly number[]>>;
}

/**
 * What lies between two things that an outsider sees: the request, what the services say to the broker, what the broker republishes.
 * `job, seq 0` overlaps with `pull`, `load` and `started`: the worker does not wait for it.
 */
export const FIRST_TERMS = [
  "validate",
  "look for the key",
  "job, seq 0",
  "pull",
  "load",
  "started",
  "first delta",
  "hub, socket",
] as const;

export type FirstTerm = (typeof FIRST_TERMS)[number];
