import { abortAfter, backoffMs, pause, raceAbort, retryRejected } from "@reprise/async";
import type { Broker } from "@reprise/broker";
import { RepriseError } from "@reprise/protocol";
import { type Batch, type BatchLimits, LaneReader } from "./lane-reader.ts";
import { findLaneStart, type LaneHistory, type LaneStart } from "./lane-start.ts";

interface RetryWhileAwayOptions {
  /** Ends the trying. */
  readonly giveUp: AbortSignal;
  /** Called with each failure. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds before a broker or a store that can't be reached is tried again. */
const RETRY_MS = 500;
/** A lane that can't begin is begun again so far apart at most. */
const MAX_RETRY_MS = 10_000;

/** Tries again while a store can't be reached. @throws the reason to give up, and any other failure */
export function retryWhileAway<T>(
  work: () => Promise<T>,
  { giveUp, onError }: RetryWhileAwayOptions,
): Promise<T> {
  const isAway = (error: unknown) => {
    if (!(error instanceof RepriseError) || error.code !== "archive_unavailable") return false;
    onError(error);
    return true;
  };
  return retryRejected(work, isAway, { pauseMs: RETRY_MS, signal: giveUp });
}

/** Makes a batch what the consumer keeps, together with the place up to which it has consumed. Rejects where that fails, or when the signal aborts. */
export type CommitBatch = (batch: Batch, giveUp: AbortSignal) => Promise<"committed" | "fenced">;

export interface LaneOptions {
  readonly connection: Broker["reads"];
  readonly stream: string;
  readonly history: LaneHistory;
  readonly limits: BatchLimits;
  /** Called before the first batch after a place, once for each beginning. */
  readonly begin: (start: LaneStart) => Promise<CommitBatch>;
  /** Maximum milliseconds to commit the messages that were read when the lane has to stop. Default 5 s. */
  readonly closeMs?: number | undefined;
  readonly onError: (error: unknown) => void;
}

/** For so long closing waits for a store that does not answer, or refuses. What is not committed by then is in the stream. */
export const SHUTDOWN_MS = 5_000;

/**
 * Consumes one stream until `signal` aborts, and then commits the messages that were read. It waits while the broker or the store can't be reached, but no
 * longer than `closeMs` after the abort: then the stream is left as it is, and the next consumer continues after the last commit. One batch is committed
 * while the next is read; no more are in memory.
 * @returns `fenced` when another process consumes the stream
 */
export async function followLane(options: LaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, stream, history, limits, begin, closeMs = SHUTDOWN_MS, onError } = options;
  const giveUp = abortAfter(signal, closeMs, () => notCommitted(stream));
  let failures = 0;
  const once = async () => {
    const start = await findLaneStart(connection, history, stream);
    const commit = await begin(start);
    failures = 0;
    const reader = new LaneReader(connection, stream, start, limits);
    return follow(reader, (batch) => commit(batch, giveUp), signal);
  };
  while (!signal.aborted) {
    try {
      if ((await raceAbort(once(), giveUp)) === "fenced") return "fenced";
    } catch (error) {
      // The next round begins by comparing the stream with what was committed, so it may have changed in any way.
      onError(error);
      await pause(backoffMs(failures++, RETRY_MS, MAX_RETRY_MS), signal);
    }
  }
  return "stopped";
}

async function follow(
  reader: LaneReader,
  commit: (batch: Batch) => Promise<"committed" | "fenced">,
  signal: AbortSignal,
): Promise<"stopped" | "fenced"> {
  let committing: Promise<"committed" | "fenced"> = Promise.resolve("committed");
  for (;;) {
    // What becomes of a commit is heard of at once, also where the next message is a long time coming.
    const ending = new AbortController();
    committing.then(
      (outcome) => {
        if (outcome === "fenced") ending.abort();
      },
      () => ending.abort(),
    );
    const { batch, error } = await reader.next(AbortSignal.any([signal, ending.signal]));
    if ((await committing) === "fenced") return "fenced";
    if (batch) committing = commit(batch);
    if (!signal.aborted && error === undefined) continue;
    if ((await committing) === "fenced") return "fenced";
    if (signal.aborted) return "stopped";
    throw error;
  }
}

function notCommitted(stream: string): RepriseError {
  const message = `What was read last of ${stream} could not be committed in time; the next consumer reads it again.`;
  return new RepriseError("archive_unavailable", message);
}
