import type { PlacesByStream, StreamRange } from "@reprise/archive";
import { readStreamInfo } from "@reprise/broker";
import { type logErasure } from "@reprise/stream";
import { mergeRanges } from "@reprise/facts/lane";
import type { LiveStreams } from "../lifecycle-context.ts";

/**
 * Collects the places that an erasure empties, in the streams as they are when this is opened, before any is read: if a stream is
 * created again meanwhile, a missing message in it is reported as a gap rather than excused.
 */
export class EmptiedRanges {
  readonly #created: ReadonlyMap<string, string>;
  readonly #ranges = new Map<string, StreamRange[]>();

  private constructor(created: ReadonlyMap<string, string>) {
    this.#created = created;
  }

  /** @throws RepriseError `broker_unavailable` */
  static async open({ broker }: LiveStreams, streams: Iterable<string>): Promise<EmptiedRanges> {
    const created = new Map<string, string>();
    for (const stream of new Set(streams))
      created.set(stream, (await readStreamInfo(broker.main, stream)).created);
    return new EmptiedRanges(created);
  }

  /** @throws RangeError for a stream that it was not opened for */
  add(places: logErasure.StreamRanges): void {
    for (const [stream, ranges] of Object.entries(places)) {
      if (!this.#created.has(stream)) throw new RangeError(`${stream} was not looked at before its places`);
      const known = this.#ranges.get(stream) ?? [];
      for (const [first, last] of ranges) known.push([first, last]);
      this.#ranges.set(stream, known);
    }
  }

  byStream(): PlacesByStream {
    const entries = [...this.#ranges].map(([stream, ranges]) => {
      // `add` takes no ranges of a stream without one.
      const created = this.#created.get(stream)!;
      return [stream, { created, ranges: mergeRanges(ranges) }] as const;
    });
    return Object.fromEntries(entries);
  }
}
