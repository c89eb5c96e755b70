import type { ShownEvent } from "./shown-events.ts";

/** Some events of a log, as an answer to `events` has them. */
export interface EventsPage {
  readonly lines: string;
  /** Whether there are more behind them. */
  readonly more: boolean;
}

/**
 * As many whole events as fit.
 * @param maxBytes at most so many bytes, unless the first event alone has more: a page without one would lead nobody on
 */
export async function toEventsPage(events: AsyncIterable<ShownEvent>, maxBytes: number): Promise<EventsPage> {
  const lines: string[] = [];
  let bytes = 0;
  for await (const { cursor, storedAtUs, payload } of events) {
    const head = `${cursor} ${Math.floor(storedAtUs / 1_000)} `;
    bytes += head.length + payload.length + 1;
    if (bytes > maxBytes && lines.length > 0) return { lines: lines.join(""), more: true };
    lines.push(`${head}${Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString()}\n`);
  }
  return { lines: lines.join(""), more: false };
}
