import type { BitReader } from "./bit-reader.ts";
import type { BitWriter } from "./bit-writer.ts";
import { archiveCorrupt } from "./archive-corrupt.ts";

/*
 * Numbers that are near what they are expected to be: Rice codes. What a number differs by from the one expected is folded to 0, 1, 2 …
 * for 0, -1, 1 …; its lowest `k` bits stand as they are, the rest as so many ones and a zero. Rice codes cost little more than the
 * entropy of what the jitter of a clock or the length of tokens makes, need no table, and so suit columns of a few hundred numbers,
 * where zstd has too little to learn from. What is too far off stands in full behind ESCAPE ones.
 */

const ESCAPE = 20;
const MAX_K = 30;
/** In place of a `k`: every number is the expected one, and takes no bits. */
const NO_BITS = 32;
const K_BITS = 6;
const NEAR = 2 ** 30;
const SAFE_INTEGER_BITS = 53;
const SAMPLES = 256;

/** Numbers as differences from the one before. @param numbers safe integers from 0 @param start the first, most probably */
export function writeDeltas(writer: BitWriter, numbers: Float64Array, start: number): void {
  const [first = start] = numbers;
  writer.write(Number(first !== start), 1);
  if (first !== start) writer.writeSafeInteger(first);
  const others = numbers.subarray(1);
  // `others` are the numbers behind the first: `i` is the index of the one before.
  const deltas = others.map((number, i) => number - numbers[i]!);
  const base = medianWithin(deltas);
  writer.writeVarint(fold(base));
  writeResiduals(writer, { residuals: deltas.map((delta) => delta - base), numbers: others });
}

/** What `writeDeltas` has written. @throws RepriseError `archive_corrupt` */
export function readDeltas(reader: BitReader, count: number, start: number): Float64Array {
  const numbers = new Float64Array(count);
  const first = reader.read(1) === 0 ? start : reader.readSafeInteger();
  const base = unfold(reader.readVarint());
  const k = readK(reader, count - 1);
  if (count > 0) numbers[0] = first;
  let before = first;
  for (let i = 1; i < count; i++) {
    before = readNumber(reader, k, { before, base });
    numbers[i] = before;
  }
  return numbers;
}

/** Numbers as differences from their median. @param numbers safe integers from 0 */
export function writeNumbers(writer: BitWriter, numbers: Float64Array): void {
  const base = medianWithin(numbers);
  writer.writeVarint(fold(base));
  writeResiduals(writer, { residuals: numbers.map((number) => number - base), numbers });
}

/** What `writeNumbers` has written. @throws RepriseError `archive_corrupt` */
export function readNumbers(reader: BitReader, count: number): Float64Array {
  const base = unfold(reader.readVarint());
  const k = readK(reader, count);
  return new Float64Array(count).map(() => readNumber(reader, k, { before: 0, base }));
}

function writeResiduals(
  writer: BitWriter,
  { residuals, numbers }: { residuals: Float64Array; numbers: Float64Array },
): void {
  if (residuals.every((residual) => residual === 0)) {
    writer.write(NO_BITS, K_BITS);
    return;
  }
  const k = cheapestK(residuals);
  writer.write(k, K_BITS);
  for (let i = 0; i < residuals.length; i++) {
    // `i` is less than the number of residuals.
    const residual = residuals[i]!;
    const folded = isNear(residual) ? fold(residual) : Number.POSITIVE_INFINITY;
    const ones = Math.floor(folded / 2 ** k);
    if (ones < ESCAPE) {
      writer.write(2 ** (ones + 1) - 2, ones + 1);
      writer.write(folded, k);
    } else {
      writer.write(2 ** ESCAPE - 1, ESCAPE);
      // There are as many numbers as residuals.
      writer.writeSafeInteger(numbers[i]!);
    }
  }
}

function readK(reader: BitReader, count: number): number {
  const k = reader.read(K_BITS);
  if (k > NO_BITS) throw archiveCorrupt(`A column of a segment has a width of ${k} bits.`);
  if (k < NO_BITS && count > reader.bitsLeft) throw archiveCorrupt("A segment ends too early.");
  return k;
}

/** The sum of what was expected and what is read: added in this order no step leaves the safe integers. */
function readNumber(
  reader: BitReader,
  k: number,
  { before, base }: { before: number; base: number },
): number {
  if (k === NO_BITS) return checked(before + base);
  const ones = reader.readUnary(ESCAPE);
  if (ones === ESCAPE) return reader.readSafeInteger();
  return checked(before + (base + unfold(ones * 2 ** k + reader.read(k))));
}

function checked(number: number): number {
  if (!Number.isSafeInteger(number) || number < 0)
    throw archiveCorrupt("A number of a segment is out of range.");
  return number;
}

/** The `k` that a few hundred of the numbers, spread over all, take the fewest bits with. */
function cheapestK(residuals: Float64Array): number {
  const step = Math.ceil(residuals.length / SAMPLES);
  const sample: number[] = [];
  for (let i = 0; i < residuals.length; i += step) {
    // `i` is less than the number of residuals.
    const residual = residuals[i]!;
    if (isNear(residual)) sample.push(fold(residual));
  }
  let best = 0;
  let fewest = Number.POSITIVE_INFINITY;
  // No larger k does with less than its own bits.
  for (let k = 0; k <= MAX_K && sample.length * (k + 1) < fewest; k++) {
    let bits = sample.length * (k + 1);
    for (const folded of sample) bits += Math.min(folded >>> k, ESCAPE + SAFE_INTEGER_BITS);
    if (bits < fewest) [fewest, best] = [bits, k];
  }
  return best;
}

/** The middle number, or 0 when that is too large to add to. */
function medianWithin(numbers: Float64Array): number {
  const median = numbers.toSorted()[numbers.length >> 1] ?? 0;
  return isNear(median) ? median : 0;
}

function isNear(number: number): boolean {
  return number > -NEAR && number < NEAR;
}

function fold(number: number): number {
  return number < 0 ? -2 * number - 1 : 2 * number;
}

function unfold(folded: number): number {
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
}
