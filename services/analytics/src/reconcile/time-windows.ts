/** Microseconds since 1970: `fromUs` belongs to it, `toUs` does not. */
export interface TimeWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

const MINUTE_US = 60_000_000;

/** Counts generations by the minute in which they ended, and divides a range of time so that no part has many of them. */
export class TimeWindows {
  readonly #range: TimeWindow;
  readonly #minutes = new Map<number, number>();

  constructor(range: TimeWindow) {
    this.#range = range;
  }

  add(atUs: number): void {
    const minute = Math.floor(atUs / MINUTE_US);
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + 1);
  }

  /** The whole range, in parts that have as many at most, unless one minute has more. */
  divide(most: number): TimeWindow[] {
    const { fromUs, toUs } = this.#range;
    const windows: TimeWindow[] = [];
    let [beginUs, count] = [fromUs, 0];
    for (const [minute, ended] of [...this.#minutes].toSorted(([a], [b]) => a - b)) {
      const startUs = minute * MINUTE_US;
      if (count > 0 && count + ended > most && startUs > beginUs && startUs < toUs) {
        windows.push({ fromUs: beginUs, toUs: startUs });
        [beginUs, count] = [startUs, 0];
      }
      count += ended;
    }
    return [...windows, { fromUs: beginUs, toUs }];
  }
}
