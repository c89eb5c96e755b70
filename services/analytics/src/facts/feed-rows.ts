import { TimeSlices } from "@reprise/async";
import type { RowConsumer } from "./row-source.ts";
import { toDeliveredRow } from "./delivery-sums.ts";

/** Adds rows as a database gives them, in slices: a process that analytics shares with others goes on with those meanwhile. */
export async function feedRows(
  parts: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
  consumer: RowConsumer,
): Promise<void> {
  const slices = new TimeSlices();
  for await (const found of parts)
    for (const row of found) {
      if (slices.isOver()) await slices.next();
      consumer.add(toDeliveredRow(row));
    }
}
