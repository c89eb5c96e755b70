/*
 * Buckets of a logarithmic scale with 64 of equal width in each octave: DDSketch's linear mapping. A bucket's middle is within 1/128 of all its values. Only integers are
 * computed with, so every machine finds the same bucket.
 */

const BITS = 6;
const PER_OCTAVE = 2 ** BITS;
const OCTAVES = 37;

/** The largest value that has a bucket; in microseconds 38 hours. */
export const MAX_VALUE = 2 ** OCTAVES - 1;
export const BUCKETS = OCTAVES * PER_OCTAVE;
/** The maximum relative distance of a bucket's middle from any of its values. */
export const RELATIVE_ERROR = 1 / (2 * PER_OCTAVE);

/** Scales a value of an octave to one from 64 to 128: powers of two, so nothing is rounded. A table, as a question asks for millions of buckets. */
const SCALES = Float64Array.from({ length: OCTAVES }, (_, octave) => 2 ** (BITS - octave));

/** @param value a whole number from 1 to `MAX_VALUE` */
export function bucketOf(value: number): number {
  // `clz32` takes 32 bits.
  const octave = value < 0x80000000 ? 31 - Math.clz32(value) : 47 - Math.clz32(value / 0x10000);
  const mantissa = Math.floor(value * (SCALES[octave] ?? NaN));
  return octave * PER_OCTAVE + mantissa - PER_OCTAVE;
}

/** The middle of a bucket, a whole number. */
export function valueOf(bucket: number): number {
  const octave = Math.floor(bucket / PER_OCTAVE);
  const lowest = (PER_OCTAVE + (bucket % PER_OCTAVE)) * 2 ** (octave - BITS);
  const width = 2 ** (octave - BITS);
  return width < 1 ? Math.ceil(lowest) : Math.floor(lowest + width / 2);
}
