import { setTimeout as delay } from "node:timers/promises";
import { type Schedule, runSchedule } from "../children/schedule.ts";
import { type Methods, serveParent } from "../children/serve-parent.ts";
import { nowMicros } from "../measure/clock.ts";
import { encodeToken } from "../measure/token.ts";

/** The part of a producer process that differs by target: the schedule is the same code for all. */
export interface Sink {
  /** Begins a stream and returns its id. */
  open(): Promise<string>;
  /** Takes a token without waiting: if the target is slow, it queues, which shows as latency. */
  append(id: string, text: string): void;
  /** Resolves when a late reader would find all tokens of the stream. */
  stored(id: string): Promise<void>;
}

const OPEN_AT_ONCE = 100;
const POLL_MS = 20;

/** The text of a stream's next token. */
export type TokenText = (dueMicros: number, stream: number) => string;

/**
 * Answers the parent's requests to a producer process.
 * @returns adds a stream that a reader has created and that has begun; the next `produce` writes to it
 */
export function serveProducer(
  sink: Sink,
  more: Methods = {},
  textOf: TokenText = encodeToken,
): (id: string) => void {
  let ids: string[] = [];
  serveParent({
    ...more,
    /** Begins streams; the next `produce` writes to them. */
    async open({ count }: { count: number }): Promise<string[]> {
      ids = [];
      while (ids.length < count) {
        const length = Math.min(OPEN_AT_ONCE, count - ids.length);
        ids.push(...(await Promise.all(Array.from({ length }, () => sink.open()))));
      }
      return ids;
    },
    async begun({ count }: { count: number }): Promise<void> {
      while (ids.length < count) await delay(POLL_MS);
    },
    /** Without `silent`, tokens go to the streams; with it, only time is kept, to learn what that costs. */
    async produce({ silent, ...schedule }: Schedule & { silent: boolean }): Promise<void> {
      await runSchedule(schedule, (stream, dueMicros) => {
        if (!silent) sink.append(ids[stream]!, textOf(dueMicros, stream));
      });
      if (!silent) await Promise.all(ids.map((id) => sink.stored(id)));
    },
    /** A stream with a past: each token stored as an event of its own. */
    async fill({ events }: { events: number }): Promise<string> {
      const id = await sink.open();
      for (let event = 0; event < events; event++) {
        sink.append(id, encodeToken(nowMicros()));
        await sink.stored(id);
      }
      return id;
    },
  });
  return (id) => void ids.push(id);
}
