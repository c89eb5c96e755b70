import {
  decodeEvent,
  type KnownEvent,
  peekSeq,
  RepriseError,
  type UnknownEvent,
  type Usage,
} from "@reprise/protocol";
import type { GenerationRow } from "../rows/generation-row.ts";
import { decodeSketch, encodeSketch } from "../sketch/sketch-codec.ts";
import { Sketch } from "../sketch/sketch.ts";
import { fromBase64, toBase64 } from "../base64.ts";
import { VarintReader, VarintWriter } from "../varint.ts";
import {
  beginState,
  type FoldedEnd,
  type FoldState,
  type KeptState,
  type PendingCall,
  resumeState,
} from "./fold-state.ts";
import { KeptTokens } from "./kept-tokens.ts";
import { type DeltaKind, peekDeltaKind, peekTokens } from "./peek-delta.ts";

/** A gap from which on a reader thinks that nothing comes any more. */
export const STALL_US = 2_000_000;
const MAX_METADATA_CHARS = 64;
const MAX_ENGINE_CHARS = 64;
/** Number of deltas before a redaction whose times are remembered. */
const RECENT = 256;

/** A fold as it is kept between two batches. */
export interface EncodedFold {
  readonly state: KeptState;
  /** Base64. */
  readonly gaps: string;
  readonly kept: string;
  /** `seq` of the last tool's answer, 0 without one. Absent in the state of earlier versions. */
  readonly turnSeq?: number;
}

/**
 * Folds one generation's log, event by event in the order of the log, into its row. Deterministic: neither the borders of batches, nor the encodings between them, nor events that come
 * again change anything. Keeps no text, and no view of a payload.
 */
export class GenerationFold {
  readonly #state: FoldState;
  readonly #gaps: Sketch;
  readonly #kept: KeptTokens;

  private constructor(state: FoldState, gaps: Sketch, kept: KeptTokens) {
    this.#state = state;
    this.#gaps = gaps;
    this.#kept = kept;
  }

  static begin({ tenant, generation }: { tenant: string; generation: string }): GenerationFold {
    return new GenerationFold(beginState(tenant, generation), new Sketch(), new KeptTokens());
  }

  /**
   * Takes what earlier versions have kept, too.
   * @throws RepriseError `protocol_violation`
   */
  static decode({ state, gaps, kept, turnSeq }: EncodedFold): GenerationFold {
    const reader = new VarintReader(fromBase64(kept), "A fold's tokens");
    const tokens = KeptTokens.decode(reader, turnSeq);
    return new GenerationFold(resumeState(state), decodeSketch(fromBase64(gaps)), tokens);
  }

  encode(): EncodedFold {
    const writer = new VarintWriter();
    this.#kept.encode(writer);
    const { turnSeq } = this.#kept;
    return {
      state: structuredClone(this.#state),
      gaps: toBase64(encodeSketch(this.#gaps)),
      kept: toBase64(writer.bytes),
      ...(turnSeq !== undefined && { turnSeq }),
    };
  }

  get hasEnded(): boolean {
    return this.#state.end !== null;
  }

  /** When the last event was stored. */
  get lastAtUs(): number {
    return this.#state.lastAtUs;
  }

  /**
   * @param storedAtUs microseconds since 1970, by the stream's clock
   * @param keys of the metadata that the row has
   * @returns false for an event that was folded before, and for one after the end
   * @throws RepriseError `protocol_violation` for bytes that are no event
   */
  feed(payload: Uint8Array, storedAtUs: number, keys: readonly string[] = []): boolean {
    const state = this.#state;
    const seq = peekSeq(payload);
    if (seq < 0) throw new RepriseError("protocol_violation", "An event does not begin with its seq.");
    if (seq <= state.lastSeq || state.end) return false;
    const kind = peekDeltaKind(payload);
    const tokens = kind && peekTokens(payload, kind);
    // Decoded before anything changes: bytes that are refused leave the fold as it was.
    const event = kind && tokens !== undefined ? undefined : decodeEvent(payload);
    if (seq !== state.lastSeq + 1) state.isIncomplete = true;
    const atUs = Math.max(storedAtUs, state.lastAtUs);
    if (atUs > storedAtUs) state.clockSteps++;
    if (event) this.#apply(event, atUs, keys);
    else if (kind && tokens !== undefined) this.#chunk(kind, { seq, tokens, atUs });
    state.lastSeq = seq;
    state.lastAtUs = atUs;
    state.events++;
    return true;
  }

  /** @throws RepriseError `internal` before the end */
  toRow(): GenerationRow {
    const { end, ...state } = this.#state;
    if (!end) throw new RepriseError("internal", "A generation that has not ended has no row.");
    const rewound = state.produced - this.#kept.total;
    return {
      tenant: state.tenant,
      generation: state.generation,
      requested_model: state.requestedModel,
      model: state.model,
      engine: state.engine,
      metadata: state.metadata,
      priority: state.priority,
      moderation_mode: state.moderationMode,
      created_us: state.createdUs,
      ended_us: end.atUs,
      status: end.status,
      finish_reason: end.finishReason,
      code: end.code,
      reason: end.reason,
      queue_us: state.startedUs === null ? null : state.startedUs - state.createdUs,
      first_us: state.firstUs === null ? null : state.firstUs - state.createdUs,
      first_tokens: state.firstTokens,
      prefill_us: state.prefillUs,
      total_us: end.atUs - state.createdUs,
      tool_wait_us: state.toolWaitUs,
      gaps: toBase64(encodeSketch(this.#gaps)),
      stalls: state.stalls,
      stall_us: state.stallUs,
      attempts: state.attempts,
      takeovers: state.takeovers,
      rewinds: state.rewinds,
      events: state.events,
      chunks: state.chunks,
      tool_calls: state.toolCalls,
      input_tokens: end.inputTokens ?? state.inputTokens,
      estimated_input_tokens: end.estimatedInputTokens ?? null,
      cached_input_tokens: end.cachedInputTokens ?? state.cachedInputTokens,
      output_tokens: end.outputTokens,
      output_tokens_kept: Math.max(0, end.outputTokens - rewound),
      reasoning_tokens: end.reasoningTokens ?? (state.reasoning > 0 ? state.reasoning : null),
      uncounted_tokens: end.outputTokens - state.produced,
      redactions: state.redactions,
      retraction_us: state.retractionUs,
      is_halted: state.isHalted,
      reviews: state.reviews,
      was_unmoderated: state.wasUnmoderated,
      clock_steps: state.clockSteps,
      is_incomplete: state.isIncomplete,
    };
  }

  #apply(event: KnownEvent | UnknownEvent, atUs: number, keys: readonly string[]): void {
    const state = this.#state;
    switch (event.type) {
      case "generation.requested": {
        const { model, metadata = {}, priority } = event.request;
        state.requestedModel = model;
        state.priority = priority ?? "interactive";
        state.moderationMode = event.policy.moderation?.mode ?? null;
        state.createdUs = atUs;
        for (const key of keys) {
          const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
          if (value !== undefined) state.metadata[key] = toStorableText(value.slice(0, MAX_METADATA_CHARS));
        }
        return;
      }
      case "generation.started":
        state.attempts++;
        state.model = event.model;
        state.engine =
          event.engine === undefined ? null : toStorableText(event.engine.slice(0, MAX_ENGINE_CHARS));
        state.startedUs ??= atUs;
        state.attemptUs = atUs;
        state.inputTokens = event.input_tokens ?? state.inputTokens;
        if (event.attempt > 1) {
          const reason = event.reason ?? "worker_lost";
          state.takeovers[reason] = (state.takeovers[reason] ?? 0) + 1;
        }
        return;
      case "reasoning.summary.delta":
        this.#chunk("reasoning", { seq: event.seq, tokens: event.tokens ?? 0, atUs });
        return;
      case "output.delta":
      case "refusal.delta":
      case "reasoning.delta": {
        const { type, seq, tokens = 1 } = event;
        state.inputTokens ??= event.input_tokens ?? null;
        state.cachedInputTokens ??= event.cached_input_tokens ?? null;
        this.#chunk(type === "reasoning.delta" ? "reasoning" : "output", { seq, tokens, atUs });
        return;
      }
      case "output.rewind":
        state.rewinds++;
        this.#kept.rewind(event.to_seq);
        this.#dropCalls(({ seq }) => seq > event.to_seq, atUs);
        return;
      case "tool.call":
        this.#firstOutput(event.tokens ?? 0, atUs);
        state.toolCalls++;
        state.inputTokens ??= event.input_tokens ?? null;
        state.cachedInputTokens ??= event.cached_input_tokens ?? null;
        state.produced += event.tokens ?? 0;
        state.reasoning += event.reasoning_tokens ?? 0;
        this.#kept.add(event.seq, event.tokens ?? 0);
        state.chunkUs = null;
        state.waitingSinceUs ??= atUs;
        state.pendingCalls.push({ id: event.call_id, seq: event.seq });
        return;
      case "tool.result":
        this.#kept.beginTurn(event.seq);
        this.#dropCalls(({ id }) => id === event.call_id, atUs);
        return;
      case "moderation.redacted":
        state.redactions++;
        this.#retract(event.to_seq, atUs);
        return;
      case "moderation.halted":
        state.isHalted = true;
        return;
      case "moderation.review":
        state.reviews++;
        return;
      case "moderation.unavailable":
        state.wasUnmoderated = true;
        return;
      case "generation.completed":
        return this.#end(atUs, event.usage, { status: "completed", finishReason: event.finish_reason });
      case "generation.failed":
        return this.#end(atUs, event.usage, { status: "failed", code: event.error.code });
      case "generation.cancelled":
        return this.#end(atUs, event.usage, { status: "cancelled", reason: event.reason });
      default:
        // Of a later version, or of no weight here.
        return;
    }
  }

  #chunk(kind: DeltaKind, { seq, tokens, atUs }: { seq: number; tokens: number; atUs: number }): void {
    const state = this.#state;
    state.chunks++;
    state.produced += tokens;
    if (kind === "reasoning") state.reasoning += tokens;
    this.#kept.add(seq, tokens);
    this.#firstOutput(tokens, atUs);
    if (state.chunkUs !== null) {
      const gap = atUs - state.chunkUs;
      this.#gaps.add(gap);
      if (gap > STALL_US) {
        state.stalls++;
        state.stallUs += gap;
      }
    }
    state.chunkUs = atUs;
    if (state.moderationMode === null) return;
    state.recent.push(seq, atUs);
    if (state.recent.length > 2 * RECENT) state.recent.splice(0, RECENT);
  }

  #firstOutput(tokens: number, atUs: number): void {
    const state = this.#state;
    if (state.firstUs !== null) return;
    state.firstUs = atUs;
    state.firstTokens = tokens;
    state.prefillUs = state.attemptUs === null ? null : atUs - state.attemptUs;
  }

  #retract(toSeq: number, atUs: number): void {
    const state = this.#state;
    let saidUs = state.recent[1];
    for (let i = 0; i < state.recent.length && (state.recent[i] ?? 0) <= toSeq; i += 2)
      saidUs = state.recent[i + 1];
    if (saidUs !== undefined) state.retractionUs = Math.max(state.retractionUs ?? 0, atUs - saidUs);
  }

  #dropCalls(isDropped: (call: PendingCall) => boolean, atUs: number): void {
    const state = this.#state;
    state.pendingCalls = state.pendingCalls.filter((call) => !isDropped(call));
    if (state.pendingCalls.length === 0) this.#stopWaiting(atUs);
  }

  #stopWaiting(atUs: number): void {
    const state = this.#state;
    if (state.waitingSinceUs !== null) state.toolWaitUs += atUs - state.waitingSinceUs;
    state.waitingSinceUs = null;
  }

  #end(
    atUs: number,
    usage: Usage,
    how: Pick<FoldedEnd, "status"> & Partial<Pick<FoldedEnd, "finishReason" | "code" | "reason">>,
  ): void {
    this.#stopWaiting(atUs);
    this.#state.end = {
      finishReason: null,
      code: null,
      reason: null,
      ...how,
      inputTokens: usage.input_tokens,
      estimatedInputTokens: usage.estimated_input_tokens ?? null,
      cachedInputTokens: usage.cached_input_tokens ?? null,
      outputTokens: usage.output_tokens,
      reasoningTokens: usage.reasoning_tokens ?? null,
      atUs,
    };
  }
}

/** Text that every database takes: U+FFFD in the place of half a surrogate pair, be it a client's or what a cut has left, and of NUL, which SQL databases refuse. */
function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
