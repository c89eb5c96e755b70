import { MAX_CURSOR_LENGTH } from "@reprise/protocol";
import type { Framing } from "../hub/cache/frame-buffer.ts";

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
