import type { StreamSeq, UnixMs } from "@reprise/protocol";
import { unixNow } from "@reprise/protocol";
import type { BrokerWatch } from "../broker/broker-watch.ts";
import type { Metrics } from "../http/metrics.ts";

interface Place {
  /** Up to here everything is dealt with. */
  settled: StreamSeq;
  /** Of what was read and is not dealt with, the oldest; by the broker's clock. */
  oldestAtMs: UnixMs | undefined;
}

export interface ObservedConsumer {
  /** How old the oldest event is that was read and is not dealt with. */
  readonly ageMs: () => number;
  /** The streams that this process consumes, and the last place in each up to which all is dealt with. */
  readonly places: () => Iterable<readonly [stream: string, settled: StreamSeq]>;
}

/** Tells how far a consumer of streams is behind. What it has not read yet counts in events: a stream's end is known as of some seconds ago. */
export function observeConsumer(
  metrics: Metrics,
  consumer: string,
  { ageMs, places }: Partial<Pick<ObservedConsumer, "ageMs">> & Pick<ObservedConsumer, "places">,
  brokerWatch: Pick<BrokerWatch, "lastStreamSeq"> | undefined,
): void {
  if (ageMs) metrics.observeEach("reprise_consumer_lag_seconds", () => [[{ consumer }, ageMs() / 1_000]]);
  metrics.observeEach("reprise_consumer_lag_events", () => {
    let behind = 0;
    for (const [stream, settled] of places())
      behind += Math.max(0, (brokerWatch?.lastStreamSeq(stream) ?? settled) - settled);
    return [[{ consumer }, behind]];
  });
}

/** How far a consumer is that reads batches and commits them. */
export class ConsumerPlaces implements ObservedConsumer {
  readonly #places = new Map<string, Place>();

  /** A batch begins, in which this is the oldest message. */
  read(stream: string, first: { readonly streamSeq: StreamSeq; readonly storedAtMs: UnixMs }): void {
    const place = this.#places.get(stream) ?? {
      settled: (first.streamSeq - 1) as StreamSeq,
      oldestAtMs: undefined,
    };
    place.oldestAtMs ??= first.storedAtMs;
    this.#places.set(stream, place);
  }

  /** All up to a place is dealt with. */
  settled(stream: string, upTo: StreamSeq): void {
    this.#places.set(stream, { settled: upTo, oldestAtMs: undefined });
  }

  /** Another process consumes it from now on. */
  forget(stream: string): void {
    this.#places.delete(stream);
  }

  readonly ageMs = (): number => {
    const now = unixNow();
    let oldest: number = now;
    for (const { oldestAtMs } of this.#places.values()) oldest = Math.min(oldest, oldestAtMs ?? now);
    return now - oldest;
  };

  readonly places = (): (readonly [string, StreamSeq])[] =>
    [...this.#places].map(([stream, { settled }]) => [stream, settled]);
}
