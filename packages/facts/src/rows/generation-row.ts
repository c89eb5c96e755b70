import type { GenerationDelivery } from "../deliveries/generation-delivery.ts";
import type { FinishReason, Priority } from "@reprise/protocol";

/**
 * An ended generation: one row, a pure function of its log. Durations are in microseconds, differences of times at which one stream has stored events; if
 * a clock was set back they are 0 at least. Names are those of the tables that keep rows.
 */
export interface GenerationRow {
  readonly tenant: string;
  readonly generation: string;
  /** The model that was asked for, and the one whose engine served last; the latter null where none began. */
  readonly requested_model: string;
  readonly model: string | null;
  /** The engine's adapter that served last, cut to 64 characters; null where none began, or the worker did not say. */
  readonly engine: string | null;
  /** The chosen keys of the request's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly priority: Priority;
  readonly moderation_mode: string | null;
  /** When the request and the terminal event were stored, in microseconds since 1970. */
  readonly created_us: number;
  readonly ended_us: number;
  readonly status: "completed" | "failed" | "cancelled";
  readonly finish_reason: FinishReason | null;
  /** Code of a failure. */
  readonly code: string | null;
  /** Reason of a cancel. */
  readonly reason: string | null;

  /** From the request to the first attempt; null where none began. */
  readonly queue_us: number | null;
  /** From the request, and from the beginning of its attempt, to the first output as it was stored: a delta, or a tool call; null where none was. */
  readonly first_us: number | null;
  readonly prefill_us: number | null;
  /** Tokens of that first output; null where none was, and in rows of versions that did not count them. */
  readonly first_tokens: number | null;
  readonly total_us: number;
  /** Between a tool's call and the last answer that it waited for, or the rewind that took the call back. All of it is after the first output. */
  readonly tool_wait_us: number;
  /** Base64 of a sketch: between neighbouring deltas of one turn, waits for tools left out. */
  readonly gaps: string;
  /** Gaps over 2 s, and their sum. */
  readonly stalls: number;
  readonly stall_us: number;

  readonly attempts: number;
  /** Attempts after the first, by why they began. */
  readonly takeovers: Readonly<Record<string, number>>;
  readonly rewinds: number;
  readonly events: number;
  /** Deltas. */
  readonly chunks: number;
  readonly tool_calls: number;

  /** From the terminal event; null if the engine never reported it. */
  readonly input_tokens: number | null;
  /** Number of these that are an estimate; null if none. */
  readonly estimated_input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  /** Tokens that engines have produced, and those of them that no rewind has taken back. */
  readonly output_tokens: number;
  readonly output_tokens_kept: number;
  readonly reasoning_tokens: number | null;
  /** By how much the terminal event's count differs from that of the log's events. */
  readonly uncounted_tokens: number;

  readonly redactions: number;
  /** The longest time between the last delta of a range, or the oldest that is remembered, and its redaction; null without one. */
  readonly retraction_us: number | null;
  readonly is_halted: boolean;
  readonly reviews: number;
  readonly was_unmoderated: boolean;

  /** Stored times that were before the one of the event before. */
  readonly clock_steps: number;
  /** Events are missing: the log had expired in part when it was read. */
  readonly is_incomplete: boolean;
}

/** A row, and how the generation came to its readers where that was asked for and is known. */
export interface DeliveredRow extends GenerationRow {
  readonly delivery?: GenerationDelivery | undefined;
}
