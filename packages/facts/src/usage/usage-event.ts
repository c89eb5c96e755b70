import { costOf, formatCost, type Price } from "../price/price.ts";
import type { GenerationRow } from "../rows/generation-row.ts";

/** The usage of one generation: the base of a meter's bill. Tokens that an engine never reported are null, and count as 0 in the cost. */
export interface UsageData {
  readonly generation: string;
  readonly model: string;
  readonly requested_model: string;
  readonly status: string;
  readonly input_tokens: number | null;
  /** Number of these that are an estimate, because no engine has counted them. Absent: none. */
  readonly estimated_input_tokens?: number;
  readonly cached_input_tokens: number | null;
  /** Tokens that engines have produced, and those of them that count: without the ones that a rewind has taken back. */
  readonly output_tokens: number;
  readonly output_tokens_kept: number;
  readonly reasoning_tokens: number | null;
  readonly attempts: number;
  /** Events were gone before they were read: attempts, rewinds and tokens that count may be others. Absent where none was. */
  readonly is_incomplete?: true;
  /** Cost of the produced tokens; absent without a price of the model. */
  readonly cost?: string;
  readonly currency?: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A CloudEvent 1.0 in its JSON form. `id` and `source` together name it, now and whenever it is made again. */
export interface UsageEvent {
  readonly specversion: "1.0";
  readonly id: string;
  readonly source: string;
  readonly type: "reprise.usage";
  /** The tenant, which a meter bills. */
  readonly subject: string;
  /** When the generation ended. RFC 3339, UTC, in milliseconds. */
  readonly time: string;
  readonly datacontenttype: "application/json";
  readonly data: UsageData;
}

export interface UsageOptions {
  /** Names the platform, among all that one meter hears of: a URI reference. */
  readonly source: string;
  /** Price of the model whose engine served. */
  readonly price?: Price | undefined;
}

const US_PER_MS = 1_000;

/**
 * A generation's use as an event. It is made of the row alone, so a replay of the log gives the same one: a meter that has it already drops it by its id.
 */
export function toUsageEvent(row: GenerationRow, { source, price }: UsageOptions): UsageEvent {
  const cost =
    price &&
    costOf(price, {
      input: row.input_tokens ?? 0,
      cachedInput: row.cached_input_tokens ?? 0,
      output: row.output_tokens,
    });
  return {
    specversion: "1.0",
    // A generation has one row, and its id is no other tenant's.
    id: row.generation,
    source,
    type: "reprise.usage",
    subject: row.tenant,
    time: new Date(Math.floor(row.ended_us / US_PER_MS)).toISOString(),
    datacontenttype: "application/json",
    data: {
      generation: row.generation,
      model: row.model ?? row.requested_model,
      requested_model: row.requested_model,
      status: row.status,
      input_tokens: row.input_tokens,
      ...(row.estimated_input_tokens !== null && { estimated_input_tokens: row.estimated_input_tokens }),
      cached_input_tokens: row.cached_input_tokens,
      output_tokens: row.output_tokens,
      output_tokens_kept: row.output_tokens_kept,
      reasoning_tokens: row.reasoning_tokens,
      attempts: row.attempts,
      ...(row.is_incomplete && { is_incomplete: true }),
      ...(price && cost !== undefined && { cost: formatCost(cost), currency: price.currency }),
      metadata: row.metadata,
    },
  };
}
