import type { EventType, FinishReason, KnownEvent, Usage } from "@reprise/protocol";
import type { AgUiEvent, RunError, RunFinished, TokenUsage } from "./events.ts";
import type { RunNames } from "./run-names.ts";

type Of<Type extends EventType> = Extract<KnownEvent, { type: Type }>;
interface Run {
  readonly names: RunNames;
  readonly isHalted: boolean;
}

type End = Of<"generation.completed" | "generation.failed" | "generation.cancelled">;

/** The protocol's end of a run. `calls` wait for an answer that the client's next run has in its history. */
export function toEnd(
  { names, isHalted }: Run,
  event: End,
  calls: readonly string[],
): RunFinished | RunError {
  const usage = [toUsage(names.model, event.usage)];
  if (event.type === "generation.failed")
    return { type: "RUN_ERROR", message: event.error.message, code: event.error.code, usage };
  if (isHalted || (event.type === "generation.completed" && event.finish_reason === "content_filter"))
    return { type: "RUN_ERROR", message: "Moderation has stopped the run.", code: "content_filter", usage };
  if (event.type === "generation.cancelled")
    return { type: "RUN_ERROR", message: `The run was cancelled: ${event.reason}`, code: "cancelled", usage };
  return {
    type: "RUN_FINISHED",
    threadId: names.threadId,
    runId: names.runId,
    outcome: { type: "success", ...(calls.length > 0 && { pendingToolCallIds: calls }) },
    usage,
    metadata: finishMetadata(event.finish_reason),
  };
}

/** Text that clients have can't be retracted here, so if the engine starts again after it, the run is over for them. */
export function toRestarted(reason: string): RunError {
  return {
    type: "RUN_ERROR",
    message: `The engine has begun again after text that was shown (${reason}). Run again for the whole text.`,
    code: "restarted",
  };
}

export function isEnd(event: AgUiEvent): event is RunFinished | RunError {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

function finishMetadata(reason: FinishReason): Record<string, Record<string, string>> {
  return { reprise: { finishReason: reason } };
}

function toUsage(model: string, usage: Usage): TokenUsage {
  const { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning } = usage;
  const cached = usage.cached_input_tokens;
  return {
    model,
    ...(input !== null && { inputTokens: input }),
    outputTokens: output,
    ...(input !== null && { totalTokens: input + output }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
  };
}
