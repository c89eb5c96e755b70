import { parseCursor, peekSeq, RepriseError, type Seq } from "@reprise/protocol";

/** One event as the audit log hands it out. */
export interface ArchivedEvent {
  readonly seq: Seq;
  /** The one that readers of the live log got with it. */
  readonly cursor: string;
  readonly payload: Uint8Array;
}

const BLANK = 0x20;
const LF = 0x0a;

/**
 * Takes apart lines of `<cursor> <milliseconds> <payload>`. The payloads are views of one copy of the answer, for that lies in a chunk of
 * the socket.
 * @throws RepriseError `protocol_violation` for anything but whole lines of consecutive events, each with a cursor of its place
 */
export function decodeAuditEvents(answer: Uint8Array): ArchivedEvent[] {
  const bytes = Buffer.from(answer);
  const events: ArchivedEvent[] = [];
  for (let at = 0; at < bytes.length;) {
    const cursorEnd = bytes.indexOf(BLANK, at);
    const timeEnd = bytes.indexOf(BLANK, cursorEnd + 1);
    const end = bytes.indexOf(LF, timeEnd + 1);
    if (cursorEnd === -1 || timeEnd === -1 || end === -1) throw malformed();
    const event = toEvent(bytes.toString("latin1", at, cursorEnd), bytes.subarray(timeEnd + 1, end));
    const before = events.at(-1);
    if (before && event.seq !== before.seq + 1) throw malformed();
    events.push(event);
    at = end + 1;
  }
  return events;
}

function toEvent(cursor: string, payload: Buffer): ArchivedEvent {
  const seq = peekSeq(payload);
  if (seq < 0 || placeOf(cursor) !== seq) throw malformed();
  return { seq, cursor, payload };
}

function placeOf(cursor: string): number {
  try {
    return parseCursor(cursor).seq;
  } catch {
    throw malformed();
  }
}

function malformed(): RepriseError {
  return new RepriseError("protocol_violation", "The audit log's response is malformed.");
}
