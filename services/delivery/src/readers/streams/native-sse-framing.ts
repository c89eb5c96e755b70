import type { Framing } from "@reprise/stream";
import { MAX_CURSOR_LENGTH } from "@reprise/protocol";

/*
 * An event as it lies in the hub's memory and goes to the socket: an SSE frame wrapped as one chunk of HTTP/1.1's chunked
 * coding. Both are the same for every reader, so a delivery is one write of a view into memory that was filled once.
 *
 *   <length, hex> CRLF  id: <cursor> LF  data: <payload> LF LF  CRLF
 *
 * Chunked, because only its end mark lets a client tell a stream that is complete from a connection that broke.
 */

const ID = "id: ";
const DATA = "\ndata: ";
const CR = 0x0d;
const LF = 0x0a;
const CRLF_BYTES = 2;
/** Up to 8 hex digits and the CRLF that follows them. */
const MAX_HEAD_BYTES = 8 + CRLF_BYTES;

export const nativeSseFraming: Framing = {
  maxBytes(payloadLength) {
    return MAX_HEAD_BYTES + ID.length + MAX_CURSOR_LENGTH + DATA.length + payloadLength + 2 + CRLF_BYTES;
  },

  write(target, start, cursor, payload) {
    const length = ID.length + cursor.length + DATA.length + payload.length + 2;
    let at = start + target.write(`${length.toString(16)}\r\n${ID}${cursor}${DATA}`, start, "latin1");
    target.set(payload, at);
    at += payload.length;
    target[at++] = LF;
    target[at++] = LF;
    target[at++] = CR;
    target[at++] = LF;
    return at;
  },

  payloadOf(frame) {
    const idLine = frame.indexOf(LF) + 1;
    const dataLine = frame.indexOf(LF, idLine) + 1;
    return frame.subarray(dataLine + DATA.length - 1, frame.length - 2 - CRLF_BYTES);
  },
};

/** Text as one chunk. */
export function encodeChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** The SSE frames inside a run of chunks, for HTTP/1.0 clients, which know no chunks. */
export function* unwrapChunks(chunks: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunks.length;) {
    const headEnd = chunks.indexOf(LF, at) + 1;
    const length = Number.parseInt(chunks.toString("latin1", at, headEnd - CRLF_BYTES), 16);
    yield chunks.subarray(headEnd, headEnd + length);
    at = headEnd + length + CRLF_BYTES;
  }
}
