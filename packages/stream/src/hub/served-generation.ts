import type { Seq } from "@reprise/protocol";
import type { Subscription } from "@nats-io/transport-node";
import type { ProbeSchedule } from "./probe-schedule.ts";
import type { TtlCheck } from "./ttl-check.ts";
import type { Repair } from "./repair.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";
import type { VerdictWatch } from "./verdict-watch.ts";

/** A cache and what the hub knows about it. */
export interface ServedGeneration {
  readonly cache: GenerationCache;
  live: Subscription | undefined;
  readonly repair: Repair;
  readonly pace: ProbeSchedule;
  /** For caches whose readers may have to wait for moderation. */
  readonly verdicts: VerdictWatch | undefined;
  idleSince: number;
  /** Since when readers have had all there is to the end. */
  endedSince?: number;
  /** Asks the log for all it has. */
  readonly check: TtlCheck;
}

/** A cache that is being opened. */
export interface OpeningTail {
  readonly entry: Promise<ServedGeneration>;
  /** The newest event that its log is known to have; `NO_SEQ` while nothing is known of it. */
  expectedSeq: Seq;
}
