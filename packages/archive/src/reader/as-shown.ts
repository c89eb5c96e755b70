import { type DeliveryMark, Withdrawals } from "@reprise/protocol";
import type { LogEvent, LogOutline, Notable } from "./log-outline.ts";

/**
 * Yields the events as one connection received them, byte for byte. Withdrawn text is in its original form if the connection had received it
 * before the withdrawal, and replaced otherwise.
 *
 * A connection has a place in the log at any time, and events from that place are delivered in the log's current form. Its mark lists the
 * place at each withdrawal that came during the connection. A withdrawal that the mark does not list either came before the connection, and applies
 * from its first event, or after it, and never applies: `known_seq` tells which. For a connection that was served from the archive,
 * the broker's clock tells.
 * @param events of the log, in its order, from the mark's first one or before
 * @param mark the last one of the connection
 */
export async function* asShownTo<E extends LogEvent>(
  events: AsyncIterable<E> | Iterable<E>,
  outline: LogOutline,
  mark: DeliveryMark,
): AsyncGenerator<E> {
  const coming = outline.withdrawing.flatMap((one) => {
    const after = countsAfter(one, mark);
    return after === undefined ? [] : [{ event: one.event, after }];
  });
  const withdrawals = new Withdrawals();
  let taken = 0;
  for await (const event of events) {
    if (event.seq < mark.from_seq) continue;
    if (event.seq > mark.seq) return;
    for (let next = coming[taken]; next && next.after < event.seq; next = coming[++taken])
      withdrawals.apply(next.event);
    yield { ...event, payload: withdrawals.project(event.seq, event.payload) };
    if (event.seq === mark.seq) return;
  }
}

/** The last event that was handed out regardless of a withdrawal; undefined where all of them were. */
function countsAfter({ event, storedAtUs }: Notable, mark: DeliveryMark): number | undefined {
  const listed = mark.withdrawn?.find(([seq]) => seq === event.seq);
  if (listed) return listed[1];
  if (mark.known_seq !== undefined) return event.seq <= mark.known_seq ? -1 : undefined;
  return storedAtUs <= Date.parse(mark.started_at) * 1_000 ? -1 : undefined;
}
