import { subscribeLive } from "@reprise/stream";
import { decodeEvent, encodeCursor, type KnownEvent, peekSeq, Transcript } from "@reprise/protocol";
import type { FaultWorld } from "../world/fault-world.ts";
import type { TestedGeneration } from "./tested-generation.ts";

/** An event, and when the broker told of it: right after it was stored, or when the watch began. By `performance.now()`. */
export interface Told {
  readonly event: KnownEvent;
  /** As it was stored, byte for byte. */
  readonly payload: string;
  readonly at: number;
}

/**
 * Listens to the broker past all services, so that what they do about an event can be timed from its append. What the log has already is
 * read: on a busy machine a generation may be over before the subscription is there.
 */
export async function watchLog(world: FaultWorld, generation: TestedGeneration): Promise<LogWatch> {
  const watch = new LogWatch(world, generation);
  await world.connection.flush();
  watch.begin(await world.readLog(generation.ref));
  return watch;
}

/** Use `watchLog`. */
export class LogWatch implements Disposable {
  readonly told: Told[] = [];
  readonly #unsubscribe: () => void;
  /** Events that were read and may still be told, by seq. */
  readonly #read = new Map<number, string>();
  #news = Promise.withResolvers<void>();

  constructor({ connection }: FaultWorld, { ref }: TestedGeneration) {
    const feed = subscribeLive(connection, ref, {
      onEvent: (payload) => {
        const text = Buffer.from(payload).toString();
        const seq = peekSeq(payload);
        const isKnown = this.#read.get(seq) === text;
        this.#read.delete(seq);
        if (!isKnown) this.told.push(toTold(text));
        this.#announce();
      },
      onError: (error) => {
        throw error;
      },
    });
    this.#unsubscribe = () => feed.unsubscribe();
  }

  /** Takes what the log had when the watch began. Its first events may have expired. */
  begin(payloads: readonly string[]): void {
    const first = this.told[0]?.event.seq ?? Number.POSITIVE_INFINITY;
    const before = payloads.map(toTold).filter(({ event }) => event.seq < first);
    for (const { event, payload } of before) this.#read.set(event.seq, payload);
    this.told.unshift(...before);
    this.#announce();
  }

  /** The first event that fits, now or later. */
  async next(fits: (event: KnownEvent) => boolean): Promise<Told> {
    for (;;) {
      const told = this.told.find(({ event }) => fits(event));
      if (told) return told;
      await this.#news.promise;
    }
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }

  #announce(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

function toTold(payload: string): Told {
  return { event: decodeEvent(payload) as KnownEvent, payload, at: performance.now() };
}

/** The cursor of each event of a log, or of its beginning, in the order of the log. */
export function cursorsOf(payloads: readonly string[]): string[] {
  const transcript = new Transcript();
  return payloads.map((payload) => {
    transcript.apply(decodeEvent(payload));
    return encodeCursor(transcript.cursor);
  });
}
