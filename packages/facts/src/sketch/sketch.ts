import { BUCKETS, bucketOf, MAX_VALUE, valueOf } from "./bucket.ts";

/** The values of a sketch beside its buckets. */
export interface SketchSummary {
  /** Number of values that were added. */
  readonly count: number;
  /** Number of them that are 0. */
  readonly zeros: number;
  readonly sum: number;
  /** 0 while there are no values. */
  readonly min: number;
  readonly max: number;
}

/** Number of spare buckets that are allocated beside the one that is needed. */
const MARGIN = 32;

/**
 * The distribution of whole numbers, such as durations in microseconds: a DDSketch. Quantiles are within 0.8 % of the value that a sorted list has there; count, sum, least and
 * greatest are exact. Merging is exact, too: in any order and grouping, the result is bit for bit the sketch of all values. At most 2,368 buckets, four bytes each.
 */
export class Sketch {
  #count = 0;
  #zeros = 0;
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  /** The bucket of the first counter. */
  #from = 0;
  #counters = new Uint32Array(0);

  get summary(): SketchSummary {
    const min = this.#count === 0 ? 0 : this.#min;
    return { count: this.#count, zeros: this.#zeros, sum: this.#sum, min, max: this.#max };
  }

  get count(): number {
    return this.#count;
  }

  /** @param value a whole number, 0 at least; one above `MAX_VALUE` counts as that */
  add(value: number, times = 1): void {
    const kept = Math.min(value, MAX_VALUE);
    this.#count += times;
    this.#sum += kept * times;
    if (kept < this.#min) this.#min = kept;
    if (kept > this.#max) this.#max = kept;
    if (kept === 0) this.#zeros += times;
    else this.#increment(bucketOf(kept), times);
  }

  merge(other: Sketch): void {
    if (other.#count === 0) return;
    this.#count += other.#count;
    this.#zeros += other.#zeros;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
    const counters = other.#counters;
    let first = 0;
    let end = counters.length;
    while (first < end && counters[first] === 0) first++;
    while (first < end && counters[end - 1] === 0) end--;
    if (first === end) return;
    this.#makeRoom(other.#from + first);
    this.#makeRoom(other.#from + end - 1);
    const shift = other.#from - this.#from;
    for (let i = first; i < end; i++)
      this.#counters[shift + i] = (this.#counters[shift + i] ?? 0) + (counters[i] ?? 0);
  }

  /** The buckets that have values, in ascending order. */
  *buckets(): Generator<readonly [bucket: number, times: number]> {
    for (const [i, times] of this.#counters.entries()) if (times > 0) yield [this.#from + i, times];
  }

  /**
   * The value of which a share of all values are less; undefined while there are none.
   * @param q from 0 to 1
   */
  quantile(q: number): number | undefined {
    if (this.#count === 0) return undefined;
    const rank = Math.floor(q * (this.#count - 1));
    if (rank < this.#zeros) return 0;
    let seen = this.#zeros;
    for (const [i, times] of this.#counters.entries()) {
      seen += times;
      if (rank < seen) return Math.min(Math.max(valueOf(this.#from + i), this.#min), this.#max);
    }
    return this.#max;
  }

  /**
   * Adds values that were counted elsewhere; the caller has checked that they agree.
   * @param buckets ascending, without those that have no values
   * @param times of each of these
   */
  addCounted(
    { count, zeros, sum, min, max }: SketchSummary,
    buckets: ArrayLike<number>,
    times: ArrayLike<number>,
  ): void {
    if (count === 0) return;
    this.#count += count;
    this.#zeros += zeros;
    this.#sum += sum;
    this.#min = Math.min(this.#min, min);
    this.#max = Math.max(this.#max, max);
    const { length } = buckets;
    const [first, last] = [buckets[0], buckets[length - 1]];
    if (first === undefined || last === undefined) return;
    this.#makeRoom(first);
    this.#makeRoom(last);
    const counters = this.#counters;
    const from = this.#from;
    for (let i = 0; i < length; i++) {
      const at = (buckets[i] ?? 0) - from;
      counters[at] = (counters[at] ?? 0) + (times[i] ?? 0);
    }
  }

  #increment(bucket: number, times: number): void {
    this.#makeRoom(bucket);
    const at = bucket - this.#from;
    this.#counters[at] = (this.#counters[at] ?? 0) + times;
  }

  #makeRoom(bucket: number): void {
    if (bucket >= this.#from && bucket < this.#from + this.#counters.length) return;
    const isEmpty = this.#counters.length === 0;
    const from = isEmpty ? bucket : Math.min(this.#from, bucket);
    const to = isEmpty ? bucket + 1 : Math.max(this.#from + this.#counters.length, bucket + 1);
    const first = Math.max(0, from - MARGIN);
    const counters = new Uint32Array(Math.min(BUCKETS, to + MARGIN) - first);
    if (!isEmpty) counters.set(this.#counters, this.#from - first);
    this.#from = first;
    this.#counters = counters;
  }
}
