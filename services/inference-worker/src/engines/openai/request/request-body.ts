import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { NamedMedia } from "../../engine.ts";

/** The body of a request, which may be sent more than once. */
export interface RequestBody {
  readonly bytes: number;
  /** From its beginning. Fails as its media do. */
  open(): Readable;
}

/**
 * Builds a JSON body that contains media as base64 but is never in memory as a whole: the JSON is made with a mark in each place, and
 * cut there. A mark is random, so no text of a request has one.
 */
export class MediaMarks {
  readonly #random = randomBytes(16).toString("hex");
  readonly #marked: NamedMedia[] = [];

  /** Returns the mark that replaces the content's base64. */
  mark(media: NamedMedia): string {
    return `${this.#random}.${this.#marked.push(media) - 1}.`;
  }

  /** @param json with marks of this object's */
  toBody(json: string): RequestBody {
    const pieces = json
      .split(new RegExp(`${this.#random}\\.(\\d+)\\.`))
      // Texts and the numbers of marks by turns.
      .map((piece, i) => (i % 2 === 0 ? piece : this.#marked[Number(piece)]!));
    const bytes = pieces.reduce((sum, piece) => sum + encodedBytes(piece), 0);
    // Pieces are as large as a store's chunks: one at a time.
    return { bytes, open: () => Readable.from(encode(pieces), { highWaterMark: 1 }) };
  }
}

type Piece = string | NamedMedia;

function encodedBytes(piece: Piece): number {
  return typeof piece === "string" ? Buffer.byteLength(piece) : 4 * Math.ceil(piece.bytes / 3);
}

/** undici keeps a body as long as the answer to it lasts. Of this one nothing is left when it is sent. */
async function* encode(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (typeof piece === "string") yield Buffer.from(piece);
    else yield* toBase64(piece.read());
  }
}

/** Base64 of pieces is that of the whole where each has a multiple of three bytes: what is over goes before the next. */
async function* toBase64(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let over: Uint8Array = new Uint8Array(0);
  for await (const piece of content) {
    const bytes =
      over.length === 0
        ? Buffer.from(piece.buffer, piece.byteOffset, piece.length)
        : Buffer.concat([over, piece]);
    const whole = bytes.length - (bytes.length % 3);
    // The piece's memory may be used again.
    over = Uint8Array.from(bytes.subarray(whole));
    if (whole > 0) yield Buffer.from(bytes.toString("base64", 0, whole), "latin1");
  }
  if (over.length > 0) yield Buffer.from(Buffer.from(over).toString("base64"), "latin1");
}
