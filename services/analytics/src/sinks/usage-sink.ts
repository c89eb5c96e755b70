import type { UsageEvent } from "@reprise/facts";

/** Where usage goes. One that was delivered may come again, as it was: who receives drops it by its `source` and `id`. */
export interface UsageSink {
  /** `A-Z a-z 0-9 -`; what has been delivered is kept under it. */
  readonly name: string;
  /** Resolves when the receiver has them for good. @throws when it has not, or may not have */
  deliver(batch: UsageBatch, signal: AbortSignal): Promise<void>;
}

/** Usage of one commit, 100 events at most. */
export interface UsageBatch {
  /** The same for the same events, however often they are delivered. */
  readonly id: string;
  readonly events: readonly UsageEvent[];
}
