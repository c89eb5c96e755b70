import { retry } from "@reprise/async";
import type { Hub, GenerationCache } from "@reprise/stream";
import { type Cursor, parseCursor, RepriseError, START, type Seq, plus } from "@reprise/protocol";

/** The cursor that a reader resumes from, and the parameter that it came in. */
export interface ResumePoint {
  readonly cursor: Cursor;
  readonly param: "after" | "Last-Event-ID" | "offset" | "heard";
}

/** Without a leader the replicas are asked. */
const ASK_REPLICAS = { pauseMs: 50, budgetMs: 500 };

/**
 * The cursor of a request: a reconnecting client's `Last-Event-ID` is newer than the `after` in its URL.
 * @throws RepriseError `cursor_invalid`
 */
export function requestedCursor(lastEventId: string | undefined, after: string | undefined): ResumePoint {
  if (lastEventId) return { cursor: parseCursor(lastEventId, "Last-Event-ID"), param: "Last-Event-ID" };
  return { cursor: after ? parseCursor(after) : START, param: "after" };
}

/**
 * The first event to send to a reader that holds a cursor.
 * @throws RepriseError `cursor_invalid` when the log has no event at the cursor, or a different one than the cursor was made
 *   for; `events_lost` when it had the cursor's event, and the store has lost it; `cursor_expired` when the log no longer begins at
 *   its beginning: without the events that begin attempts, no cursor of it can be told from a wrong one; `broker_unavailable` when
 *   the log can't be read
 */
export async function resumeFrom(
  hub: Hub,
  cache: GenerationCache,
  { cursor, param }: ResumePoint,
): Promise<Seq> {
  if (!cache.beginsWhole) throw expired();
  if (cache.events.hasLost(cursor)) throw lostCursor(param);
  if (cursor.seq > cache.lastSeq) await hub.refresh(cache);
  if (cursor.seq > cache.lastSeq) await catchUp(hub, cache, cursor);
  if (cache.events.has(cursor)) return plus(cursor.seq, 1);
  throw cache.events.hasIssued(cursor) ? lostCursor(param) : foreignCursor(param);
}

/**
 * A replica that lags may not have an event yet that another node has shown. The leader has it, and only the leader can say that no
 * node has shown it; without one, as during an election, a replica may still have it soon.
 * @throws RepriseError `broker_unavailable` when neither has
 */
async function catchUp(hub: Hub, cache: GenerationCache, cursor: Cursor): Promise<void> {
  try {
    await hub.refreshFromLeader(cache);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "broker_unavailable") throw error;
    const isCaughtUp = async () => {
      await hub.refresh(cache);
      return cursor.seq <= cache.lastSeq || undefined;
    };
    if (!(await retry(isCaughtUp, ASK_REPLICAS))) throw error;
  }
}

/**
 * Makes sure that a stream can begin with an event, while an answer can still say that it can't: where the hub has let go of
 * the event, the log is asked for it.
 * @throws RepriseError `cursor_expired`, `broker_unavailable`
 */
export async function assertKept(hub: Hub, cache: GenerationCache, seq: Seq): Promise<void> {
  if (seq < cache.shown.frames.firstSeq) await hub.readHistory(cache, seq);
}

/** A cursor that was given out for another log, or for none. */
export function foreignCursor(param: ResumePoint["param"]): RepriseError {
  const message = "The cursor does not belong to this generation's log.";
  return new RepriseError("cursor_invalid", message, { param });
}

export function lostCursor(param: ResumePoint["param"]): RepriseError {
  const message = "The broker has lost the cursor's event; the log went on from before it.";
  return new RepriseError("events_lost", message, { param });
}

function expired(): RepriseError {
  return new RepriseError("cursor_expired", "The beginning of this generation's log is no longer kept.");
}
