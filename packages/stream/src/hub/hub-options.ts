import type { Seq } from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Framing } from "./cache/frame-buffer.ts";
import type { ModerationLag, VerdictReader } from "@reprise/moderation";
import type { LeaderReader } from "../read/leader-reader.ts";
import type { LogReader } from "../read/log-reader.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";

export interface HubOptions {
  /** Carries the live feed. */
  connection: NatsConnection;
  reader: LogReader;
  leader: LeaderReader;
  verdicts: Pick<VerdictReader, "readVerdict">;
  framing: Framing;
  /** Memory for events, over all generations. Default 256 MiB. */
  maxBytes?: number;
  /** Milliseconds for which a generation stays in memory after its last reader left, and after its end even with readers. Default 60 s. */
  lingerMs?: number;
  /** After how long without an event a generation with readers is compared with its log, at the least. Default 1.5 s. */
  probeMs?: number;
  /**
   * Called when no verdict has come for a moderated generation's events after `judged` for as long as its policy allows. The callback records that in
   * the log, unless a verdict comes after all. Called for all generations at once when moderation is away, and again, with longer and longer pauses, while it
   * rejects. Default: does nothing.
   */
  onModerationTimeout?: (cache: GenerationCache, judged: Seq) => Promise<void>;
  /** Called with how far readers of a generation with `retract` were ahead of moderation, whenever more of it is judged. */
  onLag?: (lag: ModerationLag) => void;
  onError: (error: unknown) => void;
}

export const HUB_DEFAULTS = {
  maxBytes: 256 * 1_024 * 1_024,
  lingerMs: 60_000,
  probeMs: 1_500,
  onModerationTimeout: () => Promise.resolve(),
  onLag: () => undefined,
} as const satisfies Partial<HubOptions>;

export interface HubStats {
  caches: number;
  bytes: number;
  repairs: number;
  probes: number;
}
