import { fromBase64 } from "../base64.ts";
import { firstChunkUsOf, reachOf } from "../rows/reach.ts";
import type { DeliveredRow } from "../rows/generation-row.ts";
import { mergeEncodedSketch } from "../sketch/sketch-codec.ts";
import { Sketch } from "../sketch/sketch.ts";
import { type Distribution, toDistribution } from "../sketch/distribution.ts";
import { keysOf } from "./keys-of.ts";

/** The deliveries of generations to their readers. Milliseconds; counts are exact. */
export interface DeliveryReport {
  /** Read as a stream, only as answers in one piece, or not at all. */
  readonly streamed: number;
  readonly answered: number;
  readonly unread: number;
  /** With a stream that began after a cursor; with streams that were all over before the generation was. */
  readonly resumed: number;
  readonly abandoned: number;
  readonly streams: number;
  readonly resumes: number;
  readonly disconnects: number;
  /** Events that streams were sent, and those of them that were in the log when they began. */
  readonly events: number;
  readonly replayed_events: number;
  readonly first_chunk_ms: Distribution | null;
  readonly between_chunks_ms: Distribution | null;
  /** The path of the first output to the first stream: the engine, its append, the node's feed, moderation, and the socket. */
  readonly engine_first_ms: Distribution | null;
  readonly append_ms: Distribution | null;
  readonly received_ms: Distribution | null;
  readonly held_ms: Distribution | null;
  readonly sent_ms: Distribution | null;
  readonly client: {
    readonly reports: number;
    readonly reconnects: number;
    readonly round_trip_ms: Distribution | null;
    readonly first_text_ms: Distribution | null;
    readonly longest_gap_ms: Distribution | null;
  };
}

const MS = 1_000;

/** Sums up how generations were delivered, in any order. */
export class DeliverySummary {
  readonly #counts = {
    streamed: 0,
    answered: 0,
    unread: 0,
    resumed: 0,
    abandoned: 0,
    streams: 0,
    resumes: 0,
    disconnects: 0,
    events: 0,
    replayed: 0,
    reports: 0,
    reconnects: 0,
  };
  readonly #sketches = {
    firstChunk: new Sketch(),
    gaps: new Sketch(),
    engineFirst: new Sketch(),
    append: new Sketch(),
    received: new Sketch(),
    held: new Sketch(),
    sent: new Sketch(),
    roundTrip: new Sketch(),
    firstText: new Sketch(),
    longestGap: new Sketch(),
  };

  add(row: DeliveredRow): void {
    const { delivery } = row;
    const counts = this.#counts;
    counts[reachOf(row)]++;
    if (!delivery) return;
    counts.resumed += Number(delivery.resumes > 0);
    counts.abandoned += Number(delivery.disconnects > 0 && delivery.finished === 0);
    counts.streams += delivery.streams;
    counts.resumes += delivery.resumes;
    counts.disconnects += delivery.disconnects;
    counts.events += delivery.events;
    counts.replayed += delivery.replayed;
    const isReported = delivery.round_trip_us ?? delivery.first_text_us ?? delivery.longest_gap_us;
    counts.reports += Number(isReported !== null || delivery.reconnects !== null);
    counts.reconnects += delivery.reconnects ?? 0;
    const sketches = this.#sketches;
    for (const gaps of delivery.gaps ?? []) mergeEncodedSketch(sketches.gaps, fromBase64(gaps));
    measure(sketches.firstChunk, firstChunkUsOf(row));
    measure(sketches.engineFirst, delivery.engine_first_us);
    measure(sketches.append, delivery.append_us);
    measure(sketches.received, delivery.received_us);
    if (row.moderation_mode !== null) measure(sketches.held, delivery.held_us);
    measure(sketches.sent, delivery.sent_us);
    measure(sketches.roundTrip, delivery.round_trip_us);
    measure(sketches.firstText, delivery.first_text_us);
    measure(sketches.longestGap, delivery.longest_gap_us);
  }

  merge(other: DeliverySummary): void {
    for (const name of keysOf(this.#counts)) this.#counts[name] += other.#counts[name];
    for (const name of keysOf(this.#sketches)) this.#sketches[name].merge(other.#sketches[name]);
  }

  toReport(): DeliveryReport {
    const { replayed, reports, reconnects, ...counts } = this.#counts;
    const sketches = this.#sketches;
    return {
      ...counts,
      replayed_events: replayed,
      first_chunk_ms: toDistribution(sketches.firstChunk, MS),
      between_chunks_ms: toDistribution(sketches.gaps, MS),
      engine_first_ms: toDistribution(sketches.engineFirst, MS),
      append_ms: toDistribution(sketches.append, MS),
      received_ms: toDistribution(sketches.received, MS),
      held_ms: toDistribution(sketches.held, MS),
      sent_ms: toDistribution(sketches.sent, MS),
      client: {
        reports,
        reconnects,
        round_trip_ms: toDistribution(sketches.roundTrip, MS),
        first_text_ms: toDistribution(sketches.firstText, MS),
        longest_gap_ms: toDistribution(sketches.longestGap, MS),
      },
    };
  }
}

function measure(sketch: Sketch, us: number | null): void {
  if (us !== null) sketch.add(us);
}
