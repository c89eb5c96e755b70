import { MAX_CURSOR_LENGTH, decodeEvent, type KnownEvent, asSeq } from "@reprise/protocol";
import type { Framing } from "../hub/cache/frame-buffer.ts";
import type { GenerationCache } from "../hub/cache/generation-cache.ts";

const LF = 0x0a;
/** Room for a cursor and two LFs. */
const OVERHEAD = MAX_CURSOR_LENGTH + 2;

/** The simplest frame: the cursor, LF, the payload, LF. */
export const plainFraming: Framing = {
  maxBytes: (payloadLength) => payloadLength + OVERHEAD,
  write(target, at, cursor, payload) {
    const start = at + target.write(`${cursor}\n`, at, "latin1");
    target.set(payload, start);
    target[start + payload.length] = LF;
    return start + payload.length + 1;
  },
  payloadOf: (frame) => frame.subarray(frame.indexOf(LF) + 1, -1),
};

/** The events that a cache shows a reader that comes now, and reads from its memory. */
export function shownEvents(cache: GenerationCache): KnownEvent[] {
  const events: KnownEvent[] = [];
  for (let seq = 1; ;) {
    const view = cache.shown.view(asSeq(seq), 0);
    if (!view) return events;
    events.push(decodeEvent(plainFraming.payloadOf(view.bytes)) as KnownEvent);
    seq = view.next;
  }
}

/** Their texts, joined. */
export function shownText(cache: GenerationCache): string {
  return shownEvents(cache)
    .map((event) => (event.type === "output.delta" ? event.text : ""))
    .join("");
}
