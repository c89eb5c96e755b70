import type { Subscription } from "@nats-io/transport-node";
import type { ProbePace } from "./idle-probe.ts";
import type { RecentCheck } from "./recent-check.ts";
import type { Repair } from "./repair.ts";
import type { Tail } from "./tail.ts";
import type { VerdictWatch } from "./verdict-watch.ts";

/** A tail and what the hub knows about it. */
export interface HubEntry {
  readonly tail: Tail;
  live: Subscription | undefined;
  readonly repair: Repair;
  readonly pace: ProbePace;
  /** For tails whose readers may have to wait for moderation. */
  readonly verdicts: VerdictWatch | undefined;
  idleSince: number;
  /** Since when readers have had all there is to the end. */
  endedSince?: number;
  /** Asks the log for all it has. */
  readonly check: RecentCheck;
}

/** A tail that is being opened. */
export interface OpeningTail {
  readonly entry: Promise<HubEntry>;
  /** The newest event that its log is known to have; -1 while nothing is known of it. */
  expectedSeq: number;
}
