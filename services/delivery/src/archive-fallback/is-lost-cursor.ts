import { Attempts } from "@reprise/stream";
import { type Cursor, decodeEvent, peekType, FIRST_SEQ, plus } from "@reprise/protocol";
import { type ArchivedLog, readArchived } from "./archived-events.ts";

const PAGE_BYTES = 256 * 1_024;

/**
 * Returns true if a cursor without an event in the log was issued for an event that the broker has lost, see `Attempts.hasIssued`. Reads the log up to the
 * cursor's position, page by page, so it is called only for such a cursor.
 */
export async function isLostCursor(log: ArchivedLog, cursor: Cursor): Promise<boolean> {
  const attempts = new Attempts();
  for (let from = FIRST_SEQ, more = true; more && from <= cursor.seq;) {
    const page = await readArchived(log, from, PAGE_BYTES);
    for (const { payload } of page.events) {
      if (peekType(payload) !== "generation.started") continue;
      attempts.add(decodeEvent(payload));
    }
    if (attempts.hasIssued(cursor)) return true;
    from = plus(from, page.events.length);
    ({ more } = page);
  }
  return false;
}
