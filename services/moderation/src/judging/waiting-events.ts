import type { LogEvent } from "./moderator-context.ts";

const MOST_EVENTS = 1_024;
const MOST_BYTES = 256 * 1_024;

/**
 * The events of one generation that wait to be judged, in order: 1,024 or 256 KiB at most, and two of any size. Of those that are too many only the
 * last is kept. It shows that some are missing, and those are read from the log.
 */
export class WaitingEvents {
  readonly #events: LogEvent[] = [];
  #bytes = 0;

  get first(): LogEvent | undefined {
    return this.#events[0];
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps a copy: the payload of a message holds the whole chunk that was read from the connection. */
  push({ payload, streamSeq }: LogEvent): void {
    const isFull = this.#events.length >= MOST_EVENTS || this.#bytes + payload.length > MOST_BYTES;
    // The first one may be being judged.
    if (isFull && this.#events.length > 1) this.#bytes -= this.#events.pop()!.payload.length;
    this.#events.push({ payload: Uint8Array.from(payload), streamSeq });
    this.#bytes += payload.length;
  }

  shift(): LogEvent | undefined {
    const event = this.#events.shift();
    this.#bytes -= event?.payload.length ?? 0;
    return event;
  }
}
