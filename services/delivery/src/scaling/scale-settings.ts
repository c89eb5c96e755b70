import type { WaitTarget } from "./slots-for-load.ts";

export interface WorkerScaling {
  readonly target: WaitTarget;
  /** In which time a backlog is to be gone once workers for it are ready. */
  readonly drainMs: number;
  /** How long a new worker takes until it pulls jobs. */
  readonly coldStartMs: number;
  /** Added to the load, as a share of it: arrivals are less even than the formula has them. */
  readonly headroom: number;
  /** How long a job has a slot, before any has ended. */
  readonly serviceMs: number;
  /** Slots of a worker, before any has announced itself. */
  readonly slots: number;
  readonly min: number;
  readonly max: number;
  /** For how long fewer have to be enough before fewer are wanted. */
  readonly stabilisationMs: number;
}

export interface DeliveryScaling {
  /** How many readers one node is to have. */
  readonly readersPerNode: number;
  /** How much of its one core a node is to use, from 0 to 1. */
  readonly cpu: number;
  readonly min: number;
  readonly max: number;
  readonly stabilisationMs: number;
}

export interface ScaleSettings {
  readonly workers: WorkerScaling;
  readonly delivery: DeliveryScaling;
}

const STABILISATION_MS = 300_000;

export const SCALE_DEFAULTS: ScaleSettings = {
  workers: {
    target: { waitMs: 500, share: 0.95 },
    drainMs: 60_000,
    coldStartMs: 60_000,
    headroom: 0.1,
    serviceMs: 10_000,
    slots: 256,
    min: 1,
    max: 1_000,
    stabilisationMs: STABILISATION_MS,
  },
  delivery: { readersPerNode: 5_000, cpu: 0.6, min: 1, max: 1_000, stabilisationMs: STABILISATION_MS },
};
