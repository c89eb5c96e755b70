import * as fc from "fast-check";
import { createSseDecoder, type SseMessage } from "./sse-decoder.ts";

const encoder = new TextEncoder();

/** Text on one line, with characters of one to four bytes, that does not begin with the blank that a field's value loses. */
export const anyText = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom("a", ":", " ", "é", "中", "🙂", "\u2028", "\0", "\ufeff"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    ),
  })
  .map((text) => text.replaceAll(/[\r\n]/g, ""));

export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The bytes in order, cut before each of these positions; a position beyond the end wraps around. */
export function cutAt(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const cuts = [...positions.map((position) => position % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return cuts.map((end, i) => bytes.subarray(cuts[i - 1] ?? 0, end));
}

/** Every message that a new decoder finds in the chunks. */
export function decodeAll(chunks: Iterable<Uint8Array>): SseMessage[] {
  const decoder = createSseDecoder();
  return [...chunks].flatMap((chunk) => decoder.push(chunk));
}
