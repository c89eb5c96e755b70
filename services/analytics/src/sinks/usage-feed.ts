import { hash } from "node:crypto";
import { backoffMs, pause } from "@reprise/async";
import { type GenerationRow, toUsageEvent, type UsageEvent, type UsageOptions } from "@reprise/facts";
import type { Outbox } from "../facts/fact-store.ts";
import type { UsageSink } from "./usage-sink.ts";

export interface UsageFeedOptions {
  /** Outbox of this stream and this sink. */
  readonly outbox: Outbox;
  readonly sink: UsageSink;
  /** Turns a row into an event's usage. */
  readonly usageOf: (row: GenerationRow) => UsageOptions;
  /** Called for each batch that was delivered. */
  readonly onDelivered: (events: number) => void;
  readonly onError: (error: unknown) => void;
  /** Interval between looks for a new commit. Default 1 s. */
  readonly idleMs?: number;
}

const BATCH_EVENTS = 100;
const IDLE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/**
 * Delivers the usage of one stream's commits to a sink, in their order, until `signal` aborts. The commits are the outbox: what has been delivered is recorded beside them, after the delivery, so
 * everything is delivered at least once. A batch that fails is tried again for as long as it takes; those after it wait.
 */
export async function feedUsage(options: UsageFeedOptions, signal: AbortSignal): Promise<void> {
  const { outbox, sink, usageOf, onDelivered, onError, idleMs = IDLE_MS } = options;
  let next: number | undefined;
  // The delivered events of this commit: a batch that fails does not start it again.
  let delivered = 0;
  for (let failures = 0; !signal.aborted;) {
    try {
      next ??= await outbox.place();
      const rows = await outbox.rowsOf(next);
      if (!rows) {
        await pause(idleMs, signal);
        continue;
      }
      const events = rows.map((row) => toUsageEvent(row, usageOf(row)));
      while (delivered < events.length) {
        const batch = events.slice(delivered, delivered + BATCH_EVENTS);
        await sink.deliver({ id: batchId(batch), events: batch }, signal);
        onDelivered(batch.length);
        delivered += batch.length;
        failures = 0;
      }
      await outbox.advance(next + 1);
      next++;
      delivered = 0;
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      const waitMs = backoffMs(failures++, FIRST_RETRY_MS, MAX_RETRY_MS);
      await pause(waitMs, signal);
    }
  }
}

/** Returns an id from the batch's events, not from its place: a store that was created again counts its commits from 0. */
function batchId(events: readonly UsageEvent[]): string {
  return hash("sha256", JSON.stringify(events.map(({ source, id }) => [source, id])), "base64url");
}
