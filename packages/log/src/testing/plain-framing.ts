import type { Framing } from "../frame-log.ts";

const LF = 0x0a;
/** Room for a cursor, at most 19 characters, and two LFs. */
const OVERHEAD = 21;

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
