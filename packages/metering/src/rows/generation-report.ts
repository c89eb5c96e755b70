import { fromBase64 } from "../base64.ts";
import { costOf, formatCost, type Price } from "../price/price.ts";
import { decodeSketch } from "../sketch/sketch-codec.ts";
import { type Distribution, toDistribution } from "../summary/distribution.ts";
import type { GenerationRow } from "./generation-row.ts";

/** One generation as the API shows it: its row, times in milliseconds, and what it cost. */
export interface GenerationReport extends Omit<GenerationRow, "generation" | "gaps" | `${string}_us`> {
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
  /** Absent without a price of the model. */
  readonly cost?: string;
  readonly currency?: string;
}

const MS = 1_000;

export function toGenerationReport(row: GenerationRow, price: Price | undefined): GenerationReport {
  const {
    generation,
    gaps,
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

function toMs(us: number | null): number | null {
  return us === null ? null : us / MS;
}

function toIso(us: number): string {
  return new Date(Math.floor(us / MS)).toISOString();
}
