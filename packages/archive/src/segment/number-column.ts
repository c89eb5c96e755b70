import { archiveCorrupt } from "../store/archive-corrupt.ts";

const MAX_WIDTH = 8;

/**
 * Whole numbers as one byte with their width, 0 to 8, then plane by plane: the highest byte of each, the next one, the lowest. A number
 * is two's complement. Planes of high bytes are nearly constant, so zstd makes them small.
 * @param numbers safe integers
 */
export function writeColumn(numbers: Float64Array): Uint8Array {
  const { length: count } = numbers;
  const width = numbers.reduce((most, number) => Math.max(most, widthOf(number)), 0);
  const bytes = new Uint8Array(1 + width * count);
  bytes[0] = width;
  for (const [i, number] of numbers.entries()) {
    let rest = number;
    for (let plane = width - 1; plane >= 0; plane--) {
      const higher = Math.floor(rest / 0x100);
      bytes[1 + plane * count + i] = rest - higher * 0x100;
      rest = higher;
    }
  }
  return bytes;
}

/** @returns the numbers, and how many bytes they took @throws RepriseError `archive_corrupt` */
export function readColumn(bytes: Uint8Array, count: number): { numbers: Float64Array; bytes: number } {
  const width = bytes[0] ?? MAX_WIDTH + 1;
  const length = 1 + width * count;
  if (width > MAX_WIDTH || length > bytes.length) throw archiveCorrupt("A segment ends too early.");
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let number = width > 0 && bytes[1 + i]! >= 0x80 ? -1 : 0;
    for (let at = 1 + i; at < length; at += count) number = number * 0x100 + bytes[at]!;
    numbers[i] = number;
  }
  return { numbers, bytes: length };
}

/** The bytes that a number needs with its sign; 0 for 0. */
function widthOf(number: number): number {
  if (number === 0) return 0;
  let width = 1;
  for (let limit = 0x80; number >= limit || number < -limit; limit *= 0x100) width++;
  return width;
}
