import type { KnownEvent } from "./event.ts";
import { Transcript } from "./transcript.ts";

/** Events as tests write them down: what they say, without their place. */
export type Draft = { type: string; [field: string]: unknown };

export const started = (attempt = 1, fields: object = {}): Draft => ({
  type: "generation.started",
  attempt,
  worker: `w${attempt}`,
  model: "sim",
  ...fields,
});
export const delta = (text: string): Draft => ({ type: "output.delta", text });
export const rewind = (to_seq: number): Draft => ({ type: "output.rewind", to_seq, reason: "worker_lost" });
export const ended = (attempt: number, reason: string): Draft => ({ type: "attempt.ended", attempt, reason });
export const called = (call_id: string, name = "look_up"): Draft => ({
  type: "tool.call",
  call_id,
  name,
  arguments: "{}",
});
export const answered = (call_id: string, output: unknown = "found"): Draft => ({
  type: "tool.result",
  call_id,
  output,
});
export const completed = (finish_reason = "stop"): Draft => ({
  type: "generation.completed",
  finish_reason,
  usage: { input_tokens: 1, output_tokens: 1 },
});
export const cancelled = (): Draft => ({
  type: "generation.cancelled",
  reason: "asked",
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** A log of these events, numbered from 1 and folded. */
export function fold(...drafts: readonly Draft[]): Transcript {
  const transcript = new Transcript();
  drafts.forEach((draft, i) => transcript.apply({ ...draft, seq: i + 1 } as unknown as KnownEvent));
  return transcript;
}
