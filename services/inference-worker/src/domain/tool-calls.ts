import type { EventDraft, JsonObject, Transcript } from "@reprise/protocol";
import { LIMITS } from "@reprise/protocol";
import type { ToolCallEvent } from "../engines/engine.ts";

/** What the first call of a turn says of the turn. */
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
 * An engine's tool calls as events. A call keeps the name that the upstream gave it, unless that is missing, too long, or stands for
 * another call of this generation: some upstreams count from 0 in every turn. In a moderated generation it never does, for there are
 * upstreams that let the model make the name, and a name cannot be withdrawn: its call could not be answered any more.
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
