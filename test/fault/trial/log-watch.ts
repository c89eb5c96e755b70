import { subscribeLive } from "@reprise/log";
import { decodeEvent, type KnownEvent } from "@reprise/protocol";
import type { FaultWorld } from "../world/fault-world.ts";
import type { TestedGeneration } from "./tested-generation.ts";

/** An event, and when the broker told of it: right after it was stored, by `performance.now()`. */
export interface Told {
  readonly event: KnownEvent;
  /** As it was stored, byte for byte. */
  readonly payload: string;
  readonly at: number;
}

/** Listens to the broker past all services, so that what they do about an event can be timed from its append. */
export async function watchLog(world: FaultWorld, generation: TestedGeneration): Promise<LogWatch> {
  const watch = new LogWatch(world, generation);
  await world.connection.flush();
  return watch;
}

/** Use `watchLog`. */
export class LogWatch implements Disposable {
  readonly told: Told[] = [];
  readonly #unsubscribe: () => void;
  #news = Promise.withResolvers<void>();

  constructor({ connection }: FaultWorld, { ref }: TestedGeneration) {
    const feed = subscribeLive(connection, ref, {
      onEvent: (payload) => {
        const text = Buffer.from(payload).toString();
        this.told.push({ event: decodeEvent(text) as KnownEvent, payload: text, at: performance.now() });
        this.#news.resolve();
        this.#news = Promise.withResolvers();
      },
      onError: (error) => {
        throw error;
      },
    });
    this.#unsubscribe = () => feed.unsubscribe();
  }

  /** The first event that fits, now or later. What the broker told before this watch began is unknown to it. */
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
}
