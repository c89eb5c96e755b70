import type { DeliveredRow, GenerationDelivery, GenerationRow } from "@reprise/facts";

/*
 * Rows made of columns. Each field is written out: an object that is filled by names in a loop takes ten times as long, and a question makes a million.
 */

type NumbersOf<Row> = {
  readonly [Name in keyof Row as Row[Name] extends number | boolean | null ? Name : never]: Float64Array;
};
/** Columns of numbers; NaN: null. */
export type RowNumbers = NumbersOf<GenerationRow>;
export type DeliveryNumbers = NumbersOf<GenerationDelivery>;
/** The values of a row that are neither numbers nor unique to it. */
export type Facets = Omit<GenerationRow, keyof RowNumbers | "generation" | "gaps">;

/** @throws TypeError for a row without a value that is never null */
export function toRow(
  facets: Facets,
  { generation, gaps }: Pick<GenerationRow, "generation" | "gaps">,
  numbers: RowNumbers,
  i: number,
  delivery: GenerationDelivery | undefined,
): DeliveredRow {
  const row: GenerationRow = {
    tenant: facets.tenant,
    generation,
    requested_model: facets.requested_model,
    model: facets.model,
    metadata: facets.metadata,
    priority: facets.priority,
    moderation_mode: facets.moderation_mode,
    created_us: known(numbers.created_us[i], "created_us"),
    ended_us: known(numbers.ended_us[i], "ended_us"),
    status: facets.status,
    finish_reason: facets.finish_reason,
    code: facets.code,
    reason: facets.reason,
    queue_us: orNull(numbers.queue_us[i]),
    first_us: orNull(numbers.first_us[i]),
    prefill_us: orNull(numbers.prefill_us[i]),
    total_us: known(numbers.total_us[i], "total_us"),
    tool_wait_us: known(numbers.tool_wait_us[i], "tool_wait_us"),
    gaps,
    stalls: known(numbers.stalls[i], "stalls"),
    stall_us: known(numbers.stall_us[i], "stall_us"),
    attempts: known(numbers.attempts[i], "attempts"),
    takeovers: facets.takeovers,
    rewinds: known(numbers.rewinds[i], "rewinds"),
    events: known(numbers.events[i], "events"),
    chunks: known(numbers.chunks[i], "chunks"),
    tool_calls: known(numbers.tool_calls[i], "tool_calls"),
    input_tokens: orNull(numbers.input_tokens[i]),
    cached_input_tokens: orNull(numbers.cached_input_tokens[i]),
    output_tokens: known(numbers.output_tokens[i], "output_tokens"),
    output_tokens_kept: known(numbers.output_tokens_kept[i], "output_tokens_kept"),
    reasoning_tokens: orNull(numbers.reasoning_tokens[i]),
    uncounted_tokens: known(numbers.uncounted_tokens[i], "uncounted_tokens"),
    redactions: known(numbers.redactions[i], "redactions"),
    retraction_us: orNull(numbers.retraction_us[i]),
    is_halted: known(numbers.is_halted[i], "is_halted") !== 0,
    reviews: known(numbers.reviews[i], "reviews"),
    was_unmoderated: known(numbers.was_unmoderated[i], "was_unmoderated") !== 0,
    clock_steps: known(numbers.clock_steps[i], "clock_steps"),
    is_incomplete: known(numbers.is_incomplete[i], "is_incomplete") !== 0,
    engine: facets.engine,
    first_tokens: orNull(numbers.first_tokens[i]),
    estimated_input_tokens: orNull(numbers.estimated_input_tokens[i]),
  };
  return delivery ? { ...row, delivery } : row;
}

/** @returns undefined for a row that nothing was recorded of */
export function toDelivered(
  numbers: DeliveryNumbers,
  i: number,
  gaps: string,
): GenerationDelivery | undefined {
  // Each row of deliveries is counted in it.
  const streams = orNull(numbers.streams[i]);
  if (streams === null) return undefined;
  return {
    streams,
    answers: known(numbers.answers[i], "answers"),
    resumes: known(numbers.resumes[i], "resumes"),
    disconnects: known(numbers.disconnects[i], "disconnects"),
    finished: known(numbers.finished[i], "finished"),
    events: known(numbers.events[i], "events"),
    replayed: known(numbers.replayed[i], "replayed"),
    received_us: orNull(numbers.received_us[i]),
    held_us: orNull(numbers.held_us[i]),
    sent_us: orNull(numbers.sent_us[i]),
    gaps: gaps === "" ? null : gaps.split(" "),
    engine_first_us: orNull(numbers.engine_first_us[i]),
    append_us: orNull(numbers.append_us[i]),
    round_trip_us: orNull(numbers.round_trip_us[i]),
    first_text_us: orNull(numbers.first_text_us[i]),
    longest_gap_us: orNull(numbers.longest_gap_us[i]),
    reconnects: orNull(numbers.reconnects[i]),
  };
}

function orNull(value = NaN): number | null {
  return Number.isNaN(value) ? null : value;
}

function known(value = NaN, name: string): number {
  if (Number.isNaN(value)) throw new TypeError(`A row has no ${name}.`);
  return value;
}
