import { FrameBuffer, type Framing } from "@reprise/stream";
import type { Frame } from "@reprise/projections";
import { asSeq } from "@reprise/protocol";
import { encodeFrame } from "./encode-frame.ts";

const CR = 0x0d;
const LF = 0x0a;
const CRLF_BYTES = 2;
const DATA = "data: ";
/** The blank line after a frame. */
const FRAME_END_BYTES = 2;
/** Up to 8 hex digits and the CRLF that follows them. */
const MAX_HEAD_BYTES = 8 + CRLF_BYTES;

/** A frame that is whole already, as one chunk of HTTP/1.1's chunked coding, like the events that the hub keeps. */
const chunkFraming: Framing = {
  maxBytes(frameLength) {
    return MAX_HEAD_BYTES + frameLength + CRLF_BYTES;
  },

  write(target, start, _cursor, frame) {
    let at = start + target.write(`${frame.length.toString(16)}\r\n`, start, "latin1");
    target.set(frame, at);
    at += frame.length;
    target[at++] = CR;
    target[at++] = LF;
    return at;
  },

  payloadOf(chunk) {
    return chunk.subarray(chunk.indexOf(LF) + 1, chunk.length - CRLF_BYTES);
  },
};

/**
 * Consecutive frames of a projection as the bytes that go to sockets. A frame's number is its position: it is counted over the whole
 * projection, from 0.
 */
export class FrameWindow {
  readonly #ids: boolean;
  readonly #buffer: FrameBuffer;

  /** @param from the number of the first frame that will be added */
  constructor({ ids, from }: { ids: boolean; from: number }) {
    this.#ids = ids;
    this.#buffer = new FrameBuffer(chunkFraming, asSeq(from));
  }

  /** Memory held, in bytes. */
  get bytes(): number {
    return this.#buffer.bytes;
  }

  /** The oldest frame that is kept. */
  get first(): number {
    return this.#buffer.firstSeq;
  }

  /** The frame that `add` will take next. */
  get next(): number {
    return this.#buffer.nextSeq;
  }

  /** The newest frame; one less than the first while there is none. */
  get last(): number {
    return this.next - 1;
  }

  add(frame: Frame): void {
    this.#buffer.append("", Buffer.from(encodeFrame(frame, this.#ids ? this.next : undefined)));
  }

  /** Frames from a position on that lie together in memory: at least one, then as many as fit. Readers at the same place share one view. */
  view(position: number, maxBytes: number): { bytes: Buffer; next: number } | undefined {
    return this.#buffer.view(asSeq(position), maxBytes);
  }

  /** The data of a frame that is kept. */
  dataAt(position: number): string | undefined {
    const frame = this.#buffer.payloadAt(asSeq(position));
    return frame?.toString("utf8", frame.indexOf(DATA) + DATA.length, frame.length - FRAME_END_BYTES);
  }

  /** Forgets the oldest frames until at most `maxBytes` are held; the newest ones always stay. */
  trim(maxBytes: number): void {
    this.#buffer.trim(maxBytes);
  }
}
