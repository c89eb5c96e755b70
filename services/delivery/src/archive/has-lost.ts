import { type Cursor, decodeEvent, type KnownEvent, peekType } from "@reprise/protocol";
import { type ArchivedLog, readArchived } from "./archived-events.ts";

const PAGE_BYTES = 256 * 1_024;

/**
 * Whether a cursor is of an event that the broker had lost: a later attempt says so, and that the log went on from before it. Reads the
 * whole log, page by page; nobody asks but for a cursor that is of no event there is.
 */
export async function hasLost(log: ArchivedLog, { attempt, seq }: Cursor): Promise<boolean> {
  for (let from = 1, more = true; more && from <= seq;) {
    const page = await readArchived(log, from, PAGE_BYTES);
    for (const { payload } of page.events) {
      if (peekType(payload) !== "generation.started") continue;
      const later = decodeEvent(payload) as Extract<KnownEvent, { type: "generation.started" }>;
      if (later.reason === "log_lost" && later.attempt > attempt && later.seq <= seq) return true;
    }
    from += page.events.length;
    ({ more } = page);
  }
  return false;
}
