/** The first index whose entry is so, in a list where all that follow it are so too; the list's length for none. */
export function firstWhere<T>(list: readonly T[], isSo: (entry: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    // `middle` is at least `low` and less than `high`: an index of the list.
    if (isSo(list[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
