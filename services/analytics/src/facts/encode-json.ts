import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { TimeSlices } from "@reprise/async";

const compress = promisify(zstdCompress);

/** Characters of text that are collected before they are encoded. */
const PIECE_CHARS = 65_536;
/** An item is a fold, of some KiB. */
const CLOCK_EVERY = 4;

/**
 * The same text as `JSON.stringify([...items])`, piece by piece and in slices: all open folds together may be hundreds of megabytes, and others of the process have their turn meanwhile.
 * The items must not change before the last piece.
 */
export async function* encodeJsonArray(items: Iterable<unknown>): AsyncGenerator<Uint8Array> {
  const slices = new TimeSlices(undefined, CLOCK_EVERY);
  let text = "[";
  let between = "";
  for (const item of items) {
    if (slices.isOver()) await slices.next();
    text += between + JSON.stringify(item);
    between = ",";
    if (text.length < PIECE_CHARS) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(`${text}]`);
}

/** By Zstandard, in a thread of its own. */
export async function compressPieces(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return compress(Buffer.concat(await Array.fromAsync(pieces)));
}
