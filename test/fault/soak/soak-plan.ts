import type { MemoryBounds } from "./judge-memory.ts";
import type { SoakOptions } from "./run-soak.ts";

/**
 * Bounded stores have to be full, or gone, before the first sample that counts: of the generations that no client reads any more
 * the hub keeps 8 MiB, and logs live for 72 s, so that a machine that stops for some seconds costs no generation its log.
 */
export const SETTINGS = {
  REPRISE_RETENTION_HOURS: "0.02",
  REPRISE_HUB_MEMORY_MB: "8",
} as const;

export interface SoakPlan extends Pick<SoakOptions, "generations" | "warmUp" | "clients" | "looks"> {
  readonly bounds: MemoryBounds;
}

export const LONG: SoakPlan = {
  generations: 24_000,
  warmUp: 4_000,
  clients: 24,
  looks: 40,
  bounds: { heapBytes: 2_000, externalBytes: 1_000, brokerBytes: 4_000, descriptors: 10 },
};

/**
 * For CI: about a minute beside the other tests on two cores, and long enough to see a leak of 30 KB per generation; a machine that starves
 * it may hide one. In so short a time the broker's memory says nothing: its garbage collector lets it double first.
 */
export const SHORT: SoakPlan = {
  generations: 5_000,
  warmUp: 2_200,
  clients: 24,
  looks: 16,
  bounds: { heapBytes: 12_000, externalBytes: 15_000, descriptors: 15 },
};
