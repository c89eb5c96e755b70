import { TimeSlices } from "@reprise/async";
import type { DeliveredRow } from "@reprise/metering";
import type { RowConsumer } from "./row-source.ts";

/** Adds rows as a database gives them, in slices: a process that analytics shares with others goes on with those meanwhile. @throws the reason of `signal` where that aborts */
export async function feedRows(
  parts: AsyncIterable<Iterable<DeliveredRow>>,
  consumer: RowConsumer,
  signal: AbortSignal | undefined,
): Promise<void> {
  const slices = new TimeSlices();
  for await (const rows of parts)
    for (const row of rows) {
      if (slices.isOver()) {
        await slices.next();
        signal?.throwIfAborted();
      }
      consumer.add(row);
    }
}
