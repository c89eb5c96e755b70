import { type StreamSeq, type UnixMs, unixNow } from "@reprise/protocol";
import type { BrokerWatch } from "../broker/broker-watch.ts";
import type { Metrics } from "../http/metrics.ts";

interface Place {
  /** Up to here everything is dealt with. */
  settled: StreamSeq;
  /** Time of the oldest event that was read and is not done; by the broker's clock. */
  oldestAtMs: UnixMs | undefined;
}

export interface ObservedConsumer {
  /** The age of the oldest event that was read and is not done. Default: it is reported elsewhere. */
  readonly ageMs?: () => number;
  /** The number of events that are not done, read or not; undefined while that is not known. */
  readonly events: () => number | undefined;
}

/** Reports the lag of a consumer of streams. */
export function observeConsumer(
  metrics: Metrics,
  consumer: string,
  { ageMs, events }: ObservedConsumer,
): void {
  if (ageMs) metrics.observeEach("reprise_consumer_lag_seconds", () => [[{ consumer }, ageMs() / 1_000]]);
  metrics.observeEach("reprise_consumer_lag_events", () => {
    const lag = events();
    return lag === undefined ? [] : [[{ consumer }, lag]];
  });
}

/** Tells how near the oldest event that a consumer has not dealt with, read or not, is to its expiry. @param ratio undefined while that is not known */
export function observeUnread(metrics: Metrics, consumer: string, ratio: () => number | undefined): void {
  metrics.observeEach("reprise_consumer_unread_ratio", () => {
    const known = ratio();
    return known === undefined ? [] : [[{ consumer }, known]];
  });
}

/** The places of a consumer that reads batches and commits them. */
export class ConsumerPlaces {
  readonly #places = new Map<string, Place>();
  readonly #brokerWatch: Pick<BrokerWatch, "lastStreamSeq"> | undefined;

  /** @param brokerWatch reports the ends of streams, as of some seconds ago; without it the lag is always 0 */
  constructor(brokerWatch: Pick<BrokerWatch, "lastStreamSeq"> | undefined) {
    this.#brokerWatch = brokerWatch;
  }

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

  readonly events = (): number => {
    let lag = 0;
    for (const [stream, { settled }] of this.#places)
      lag += Math.max(0, (this.#brokerWatch?.lastStreamSeq(stream) ?? settled) - settled);
    return lag;
  };
}
