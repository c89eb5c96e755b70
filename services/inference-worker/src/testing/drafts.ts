import type { AttemptEnd, EventDraft, KnownEvent, TakeoverReason } from "@reprise/protocol";

/* Events that other processes than the worker under test append. */

/** By a worker that is dead, if it ever lived. */
export const started = (attempt: number, reason?: TakeoverReason): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "worker-dead",
  model: "fake",
  input_tokens: 2,
  ...(reason && { reason }),
});

export const delta = (text: string, tokens = 1): EventDraft => ({ type: "output.delta", text, tokens });

export const called = (callId: string): EventDraft => ({
  type: "tool.call",
  call_id: callId,
  name: "look_up",
  arguments: "{}",
});

export const answered = (callId: string, output: number | string = 42): EventDraft => ({
  type: "tool.result",
  call_id: callId,
  output,
});

export const attemptEnded = (attempt: number, reason: AttemptEnd): EventDraft => ({
  type: "attempt.ended",
  attempt,
  reason,
});

export const FAILED: EventDraft = {
  type: "generation.failed",
  error: { code: "engine_failed", message: "x", retryable: true },
  usage: { input_tokens: null, output_tokens: 0 },
};

export const CANCELLED: EventDraft = {
  type: "generation.cancelled",
  reason: "requested",
  usage: { input_tokens: null, output_tokens: 0 },
};

/** Each attempt as its number and why it began. */
export const attemptsIn = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "generation.started" ? [[event.attempt, event.reason]] : []));
