import { type StreamSeq, plus } from "@reprise/protocol";
import type { StreamRange } from "@reprise/archive";

/** Places as ranges, ascending, neighbours joined. */
export function toRanges(places: Iterable<StreamSeq>): StreamRange[] {
  return mergeRanges([...places].map((place) => [place, place]));
}

/** The same places, ascending, neighbours joined. */
export function mergeRanges(ranges: readonly StreamRange[]): StreamRange[] {
  const joined: StreamRange[] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** Those places of `ranges` that are in none of `taken`. Both ascending and joined. */
export function subtractRanges(ranges: readonly StreamRange[], taken: readonly StreamRange[]): StreamRange[] {
  const left: StreamRange[] = [];
  let t = 0;
  for (const [first, last] of ranges) {
    let from = first;
    for (let other = taken[t]; other && other[1] < from; other = taken[++t]);
    for (let i = t, other = taken[i]; other && other[0] <= last; other = taken[++i]) {
      if (other[0] > from) left.push([from, plus(other[0], -1)]);
      from = Math.max(from, plus(other[1], 1));
    }
    if (from <= last) left.push([from, last]);
  }
  return left;
}

export function countSeqs(ranges: readonly StreamRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}
