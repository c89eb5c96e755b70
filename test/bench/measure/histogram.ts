/*
 * Counts of values in buckets that grow with the value: exact up to 127, within 1/64 above. 50 million values take as much
 * memory as ten.
 */

const SUB_BITS = 6;
const SUB_BUCKETS = 2 ** SUB_BITS;
const EXACT = 2 * SUB_BUCKETS;
const BUCKETS = EXACT + SUB_BUCKETS * 40;

/** Values in the unit they were recorded in. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export class Histogram {
  readonly #buckets = new Float64Array(BUCKETS);
  #count = 0;
  #max = 0;

  record(value: number): void {
    const whole = Math.max(0, Math.round(value));
    this.#buckets[bucketOf(whole)]! += 1;
    this.#count++;
    this.#max = Math.max(this.#max, whole);
  }

  get count(): number {
    return this.#count;
  }

  percentiles(): Percentiles {
    return {
      count: this.#count,
      p50: this.#at(0.5),
      p90: this.#at(0.9),
      p99: this.#at(0.99),
      max: this.#max,
    };
  }

  #at(fraction: number): number {
    const rank = Math.ceil(this.#count * fraction);
    let seen = 0;
    for (let index = 0; index < BUCKETS; index++) {
      seen += this.#buckets[index]!;
      if (seen >= rank && seen > 0) return Math.min(this.#max, highestOf(index));
    }
    return this.#max;
  }
}

function bucketOf(value: number): number {
  if (value < EXACT) return value;
  const shift = Math.floor(Math.log2(value)) - SUB_BITS;
  return Math.min(
    BUCKETS - 1,
    EXACT + (shift - 1) * SUB_BUCKETS + Math.floor(value / 2 ** shift) - SUB_BUCKETS,
  );
}

/** The largest value that a bucket counts: a percentile errs towards the slow side. */
function highestOf(index: number): number {
  if (index < EXACT) return index;
  const shift = Math.floor((index - EXACT) / SUB_BUCKETS) + 1;
  const mantissa = ((index - EXACT) % SUB_BUCKETS) + SUB_BUCKETS;
  return (mantissa + 1) * 2 ** shift - 1;
}
