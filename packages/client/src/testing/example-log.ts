import type { StreamEvent } from "../transcript/stream-event.ts";

const usage = { input_tokens: 3, output_tokens: 2 };

/** The log of a generation that said these texts and completed. */
export function completedLog(texts: readonly string[]): StreamEvent[] {
  return numbered([
    { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
    ...texts.map((text) => ({ type: "output.delta", text })),
    { type: "generation.completed", finish_reason: "stop", usage },
  ]);
}

/** The log of a generation that asked for these, each answered, and said what it made of it. */
export function toolLog(...calls: readonly { name: string; arguments: string }[]): StreamEvent[] {
  return numbered([
    { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
    { type: "output.delta", text: "Let me see. " },
    ...calls.map((call, i) => ({ type: "tool.call", call_id: `call_${i}`, ...call })),
    ...calls.map((_, i) => ({ type: "tool.result", call_id: `call_${i}`, output: null })),
    { type: "output.delta", text: "It is 7." },
    { type: "generation.completed", finish_reason: "stop", usage },
  ]);
}

/** Gives events their seq, from 1. */
export function numbered(drafts: readonly { type: string; [field: string]: unknown }[]): StreamEvent[] {
  return drafts.map((draft, index) => ({ seq: index + 1, ...draft }) as StreamEvent);
}

/** Texts whose UTF-8 sequences take one to four bytes, so that cuts fall within characters too. */
export const MIXED_TEXTS = ["Hel", "lo, ", "wörld ", "日本", "🙂🙃", "\r\n", " data: x\n\n", "end"];
