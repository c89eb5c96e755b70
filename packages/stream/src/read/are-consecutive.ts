import { peekSeq } from "@reprise/protocol";
import type { StoredEvent } from "./stored-event.ts";

/** True if each event was appended directly after the previous one, as in every part of a log. */
export function areConsecutive(events: readonly StoredEvent[]): boolean {
  let next = -1;
  for (const { payload } of events) {
    const seq = peekSeq(payload);
    if (seq < 0 || (next >= 0 && seq !== next)) return false;
    next = seq + 1;
  }
  return true;
}
