import { type Cursor, decodeEvent, type KnownEvent, peekType } from "@reprise/protocol";
import { type ArchivedLog, readArchived } from "./archived-events.ts";

const PAGE_BYTES = 256 * 1_024;

/**
 * Whether a cursor without an event in the log was issued for an event that the broker had lost: its attempt is one of the log's own, or
 * a later attempt records that events had been lost, and that the log went on from before it. Reads the whole log, page by page; called
 * only for such a cursor.
 */
export async function hasLost(log: ArchivedLog, { attempt, nonce, seq }: Cursor): Promise<boolean> {
  for (let from = 1, more = true; more && from <= seq;) {
    const page = await readArchived(log, from, PAGE_BYTES);
    for (const { payload } of page.events) {
      if (peekType(payload) !== "generation.started") continue;
      const begun = decodeEvent(payload) as Extract<KnownEvent, { type: "generation.started" }>;
      if (nonce !== undefined && begun.nonce === nonce && begun.attempt === attempt) return true;
      if (begun.reason === "log_lost" && begun.attempt > attempt && begun.seq <= seq) return true;
    }
    from += page.events.length;
    ({ more } = page);
  }
  return false;
}
