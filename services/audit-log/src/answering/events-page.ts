import type { ShownEvent } from "./shown-events.ts";

/** Some events of a log, as an answer to `events` has them. */
export interface EventsPage {
  readonly lines: string;
  /** True if more events follow. */
  readonly more: boolean;
}

/**
 * Reads as many whole events as fit, up to an event that can't be read: the page that would begin with that one fails with its error.
 * @param maxBytes limit of the page, exceeded only by a first event that is larger alone: an empty page would stop the reader
 */
export async function toEventsPage(events: AsyncIterable<ShownEvent>, maxBytes: number): Promise<EventsPage> {
  const lines: string[] = [];
  let bytes = 0;
  try {
    for await (const { cursor, storedAtUs, payload } of events) {
      const head = `${cursor} ${Math.floor(storedAtUs / 1_000)} `;
      bytes += head.length + payload.length + 1;
      if (bytes > maxBytes && lines.length > 0) return { lines: lines.join(""), more: true };
      const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
      lines.push(`${head}${text}\n`);
    }
  } catch (error) {
    if (lines.length === 0) throw error;
    return { lines: lines.join(""), more: true };
  }
  return { lines: lines.join(""), more: false };
}
