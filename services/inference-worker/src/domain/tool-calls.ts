import { type EventDraft, type JsonObject, type Transcript, LIMITS } from "@reprise/protocol";
import type { ToolCallEvent } from "../engines/engine.ts";

/** The turn's counts, carried by the first call of the turn. */
export type CallCount = Pick<
  Extract<EventDraft, { type: "tool.call" }>,
  | "tokens"
  | "reasoning_tokens"
  | "input_tokens"
  | "cached_input_tokens"
  | "audio_input_tokens"
  | "audio_output_tokens"
  | "finish_reason_missing"
>;

/**
 * Turns an engine's tool calls into events. A call keeps the id of the upstream, unless the id is missing, too long, or used by
 * another call of this generation: some upstreams count from 0 in every turn. In a moderated generation a call never keeps it, because some
 * upstreams let the model choose the id. An id cannot be withdrawn, as its call could then not be answered.
 */
export function toCallDrafts(
  calls: readonly ToolCallEvent[],
  transcript: Transcript,
  { isModerated, count }: { isModerated: boolean; count?: CallCount | undefined },
): EventDraft[] {
  const taken = new Set<string>();
  return calls.map(({ callId, name, arguments: text, providerState }, i) => {
    const usable = !isModerated && callId && callId.length <= LIMITS.toolCallIdLength && isFree(callId);
    const id = usable ? callId : nameOf(i);
    taken.add(id);
    const state = providerState && { provider_state: providerState as JsonObject };
    return { type: "tool.call", call_id: id, name, arguments: text, ...(i === 0 && count), ...state };
  });

  /** Even a name like this may be taken: an upstream may make up its names in the same way. Mistral takes nothing else. */
  function nameOf(i: number): string {
    const id = `c${base36(transcript.cursor.seq, 5)}${base36(i, 3)}`;
    return isFree(id) ? id : nameOf(i + calls.length);
  }

  function isFree(id: string): boolean {
    return !taken.has(id) && !transcript.hasCall(id);
  }
}

function base36(value: number, length: number): string {
  return value.toString(36).padStart(length, "0");
}
