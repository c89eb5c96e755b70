import { fromBase64 } from "../base64.ts";
import { costOf, formatCost, type Price } from "../price/price.ts";
import { decodeSketch, mergeEncodedSketch } from "../sketch/sketch-codec.ts";
import { type Distribution, toDistribution } from "../sketch/distribution.ts";
import { firstChunkUsOf, reachOf } from "./reach.ts";
import { Sketch } from "../sketch/sketch.ts";
import type { DeliveredRow } from "./generation-row.ts";

/** One generation as the API shows it: its row, times in milliseconds, and what it cost. */
export interface GenerationReport extends Omit<
  DeliveredRow,
  "generation" | "gaps" | "delivery" | `${string}_us`
> {
  readonly id: string;
  readonly object: "analytics.generation";
  readonly created_at: string;
  readonly ended_at: string;
  readonly queue_ms: number | null;
  readonly first_token_ms: number | null;
  readonly prefill_ms: number | null;
  readonly end_to_end_ms: number;
  readonly tool_wait_ms: number;
  readonly stall_ms: number;
  readonly retraction_ms: number | null;
  readonly between_chunks_ms: Distribution | null;
  /** null: no reading of it is recorded. */
  readonly delivery: DeliveryOfOne | null;
  /** Absent without a price of the model. */
  readonly cost?: string;
  readonly currency?: string;
}

/** The deliveries of one generation to its readers. */
interface DeliveryOfOne {
  readonly read: ReturnType<typeof reachOf>;
  readonly streams: number;
  readonly answers: number;
  readonly resumes: number;
  readonly disconnects: number;
  readonly finished: number;
  readonly events: number;
  readonly replayed_events: number;
  readonly first_chunk_ms: number | null;
  readonly engine_first_ms: number | null;
  readonly append_ms: number | null;
  readonly received_ms: number | null;
  readonly held_ms: number | null;
  readonly sent_ms: number | null;
  readonly between_chunks_ms: Distribution | null;
  readonly client: {
    readonly round_trip_ms: number | null;
    readonly first_text_ms: number | null;
    readonly longest_gap_ms: number | null;
    readonly reconnects: number | null;
  };
}

const MS = 1_000;

export function toGenerationReport(row: DeliveredRow, price: Price | undefined): GenerationReport {
  const {
    generation,
    gaps,
    delivery: _,
    created_us: createdUs,
    ended_us: endedUs,
    queue_us: queueUs,
    first_us: firstUs,
    prefill_us: prefillUs,
    total_us: totalUs,
    tool_wait_us: toolWaitUs,
    stall_us: stallUs,
    retraction_us: retractionUs,
    ...rest
  } = row;
  return {
    id: generation,
    object: "analytics.generation",
    created_at: toIso(createdUs),
    ended_at: toIso(endedUs),
    ...rest,
    queue_ms: toMs(queueUs),
    first_token_ms: toMs(firstUs),
    prefill_ms: toMs(prefillUs),
    end_to_end_ms: totalUs / MS,
    tool_wait_ms: toolWaitUs / MS,
    stall_ms: stallUs / MS,
    retraction_ms: toMs(retractionUs),
    between_chunks_ms: toDistribution(decodeSketch(fromBase64(gaps)), MS),
    delivery: toDeliveryOfOne(row),
    ...(price && {
      cost: formatCost(
        costOf(price, {
          input: row.input_tokens ?? 0,
          cachedInput: row.cached_input_tokens ?? 0,
          output: row.output_tokens,
        }),
      ),
      currency: price.currency,
    }),
  };
}

function toDeliveryOfOne(row: DeliveredRow): DeliveryOfOne | null {
  const { delivery } = row;
  if (!delivery) return null;
  const gaps = new Sketch();
  for (const part of delivery.gaps ?? []) mergeEncodedSketch(gaps, fromBase64(part));
  return {
    read: reachOf(row),
    streams: delivery.streams,
    answers: delivery.answers,
    resumes: delivery.resumes,
    disconnects: delivery.disconnects,
    finished: delivery.finished,
    events: delivery.events,
    replayed_events: delivery.replayed,
    first_chunk_ms: toMs(firstChunkUsOf(row)),
    engine_first_ms: toMs(delivery.engine_first_us),
    append_ms: toMs(delivery.append_us),
    received_ms: toMs(delivery.received_us),
    held_ms: toMs(delivery.held_us),
    sent_ms: toMs(delivery.sent_us),
    between_chunks_ms: toDistribution(gaps, MS),
    client: {
      round_trip_ms: toMs(delivery.round_trip_us),
      first_text_ms: toMs(delivery.first_text_us),
      longest_gap_ms: toMs(delivery.longest_gap_us),
      reconnects: delivery.reconnects,
    },
  };
}

function toMs(us: number | null): number | null {
  return us === null ? null : us / MS;
}

function toIso(us: number): string {
  return new Date(Math.floor(us / MS)).toISOString();
}
