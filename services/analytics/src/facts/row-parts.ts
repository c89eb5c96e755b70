import { RepriseError } from "@reprise/protocol";
import type { RowQuery } from "./row-source.ts";

const MINUTE_US = 60_000_000;

/** The number of rows of a query by file and by the minute in which their generations ended; in ascending order of minutes. */
export type MinuteCounts = readonly MinuteCount[];

interface MinuteCount {
  readonly minute: number;
  readonly rows: number;
  /** The path of the file that has them. */
  readonly file: string;
}

/** A time whose rows are read together. */
export interface RowPart extends Pick<RowQuery, "fromUs" | "toUs"> {
  readonly counts: MinuteCounts;
}

/** The minute in which a row's generation ended, in SQL. */
export const MINUTE = `cast(floor(ended_us / ${MINUTE_US}) as bigint)`;

/** The files that have rows of a part. */
export function filesOf({ counts }: RowPart): string[] {
  return [...new Set(counts.map(({ file }) => file))];
}

/** @throws RepriseError `invalid_request` */
export function assertNotTooMany(counts: MinuteCounts, { mostRows = Infinity }: RowQuery): void {
  const rows = counts.reduce((sum, minute) => sum + minute.rows, 0);
  if (rows <= mostRows) return;
  const message = `from: ${rows} generations ended in this time, and ${mostRows} are the limit. Ask for a shorter time, or for one tenant, model or status.`;
  throw new RepriseError("invalid_request", message, { param: "from" });
}

/** Splits the time into parts of at most this many rows; all rows of one minute are in one part, even if they are more. Times without rows may be in none. */
export function toParts({ fromUs, toUs, counts }: RowPart, mostRows: number): readonly RowPart[] {
  const parts: RowPart[] = [];
  let part: { fromUs: number; counts: MinuteCount[] } = { fromUs, counts: [] };
  let rows = 0;
  for (const minute of Map.groupBy(counts, (count) => count.minute).values()) {
    const more = minute.reduce((sum, count) => sum + count.rows, 0);
    if (rows > 0 && rows + more > mostRows) {
      const minuteUs = (minute[0]?.minute ?? 0) * MINUTE_US;
      parts.push({ ...part, toUs: minuteUs });
      part = { fromUs: minuteUs, counts: [] };
      rows = 0;
    }
    part.counts.push(...minute);
    rows += more;
  }
  if (rows > 0) parts.push({ ...part, toUs });
  return parts;
}
