import type { Hub, Tail } from "@reprise/log";
import { type Cursor, parseCursor, RepriseError, START } from "@reprise/protocol";

/** A replica that lags may not have an event yet that another node has shown: tries, and the pause between them. */
const TRIES = 10;
const PAUSE_MS = 50;

/** The cursor of a request: a reconnecting client's `Last-Event-ID` is newer than the `after` in its URL. */
export function requestedCursor(lastEventId: string | undefined, after: string | undefined): Cursor {
  if (lastEventId !== undefined && lastEventId !== "") return parseCursor(lastEventId, "Last-Event-ID");
  return after === undefined || after === "" ? START : parseCursor(after);
}

/**
 * The first event to send to a reader that holds a cursor.
 * @throws RepriseError `cursor_invalid` when the log has no event at the cursor, or a different one than the cursor was made for
 */
export async function resumeFrom(hub: Hub, tail: Tail, cursor: Cursor): Promise<number> {
  for (let tries = 1; cursor.seq > tail.lastSeq && tries <= TRIES; tries++) {
    if (tries > 1) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    await hub.refresh(tail);
  }
  if (tail.attemptAt(cursor.seq) !== cursor.attempt) {
    throw new RepriseError("cursor_invalid", "The cursor does not belong to this generation's log.", {
      param: "after",
    });
  }
  return cursor.seq + 1;
}
