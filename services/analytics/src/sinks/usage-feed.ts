import type { BlobStore } from "@reprise/archive";
import { backoffMs, pause } from "@reprise/async";
import { type GenerationRow, toUsageEvent, type UsageEvent, type UsageOptions } from "@reprise/metering";
import { RepriseError } from "@reprise/protocol";
import { readParquetRows } from "@reprise/tables";
import { commitKeyOf } from "../facts/commit.ts";
import { toRow } from "../facts/row-columns.ts";
import type { UsageSink } from "./usage-sink.ts";

export interface UsageFeedOptions {
  readonly store: BlobStore;
  readonly stream: string;
  readonly sink: UsageSink;
  /** How a row becomes an event. */
  readonly usageOf: (row: GenerationRow) => UsageOptions;
  /** Called for each batch that was delivered. */
  readonly onDelivered: (events: number) => void;
  readonly onError: (error: unknown) => void;
  /** How often to look for a new commit. Default 1 s. */
  readonly idleMs?: number;
}

const BATCH_EVENTS = 100;
const IDLE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/**
 * Delivers the usage of one stream's commits to a sink, in their order, until `signal` aborts. The commits are the outbox: what has been delivered is kept beside them, behind the delivery, so
 * everything is delivered at least once. A batch that fails is tried again for as long as it takes; those behind it wait.
 */
export async function feedUsage(options: UsageFeedOptions, signal: AbortSignal): Promise<void> {
  const { store, stream, sink, onDelivered, onError, idleMs = IDLE_MS } = options;
  const cursorKey = `sinks/${sink.name}/${stream}`;
  let next: number | undefined;
  for (let failures = 0; !signal.aborted;) {
    try {
      next ??= await readCursor(store, cursorKey);
      const key = commitKeyOf(stream, next);
      const commit = await store.get(key);
      if (!commit) {
        await pause(idleMs, signal);
        continue;
      }
      const events = await eventsOf(commit, options);
      for (let from = 0; from < events.length; from += BATCH_EVENTS) {
        const batch = events.slice(from, from + BATCH_EVENTS);
        await sink.deliver({ id: `${stream}-${next}-${from}`, events: batch }, signal);
        onDelivered(batch.length);
      }
      next++;
      await store.put(cursorKey, Buffer.from(JSON.stringify({ next })));
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      const waitMs = backoffMs(failures++, FIRST_RETRY_MS, MAX_RETRY_MS);
      await pause(waitMs, signal);
    }
  }
}

async function eventsOf(commit: Uint8Array, { usageOf }: UsageFeedOptions): Promise<UsageEvent[]> {
  const rows = (await readParquetRows(commit)).map(toRow);
  return rows.map((row) => toUsageEvent(row, usageOf(row)));
}

async function readCursor(store: BlobStore, key: string): Promise<number> {
  const bytes = await store.get(key);
  if (!bytes) return 0;
  const { next } = JSON.parse(Buffer.from(bytes).toString()) as { next?: unknown };
  if (typeof next === "number" && Number.isSafeInteger(next) && next >= 0) return next;
  throw new RepriseError("archive_corrupt", `${key} is no place of a sink.`);
}
