import type { Trial } from "../trial/trial.ts";
import type { WorldOptions } from "../world/world-options.ts";

/** One way to break the platform, tried again and again. */
export interface FaultRow {
  /** As `--rows` takes it. */
  readonly name: string;
  /** The fault, and from when to when recovery is measured: one line of the table. */
  readonly about: string;
  /**
   * The proof that the fault has hit something, after "the fault hits where": the row calls `trial.hit()` for each such thing. A trial
   * without any is a violation.
   */
  readonly proof: string;
  readonly world: WorldOptions;
  /** Number of trials that may share a world at once, since the row breaks nothing that they share. Default 1. */
  readonly together?: number;
  /** Number of trials of the short form; 0: only campaigns try it. Default 2. */
  readonly shortTrials?: number;
  /**
   * Makes the load, breaks something, and reports recovery times. What it leaves broken is healed afterwards, all readings are
   * waited for, and the judge checks everything.
   */
  run(trial: Trial): Promise<void>;
}
