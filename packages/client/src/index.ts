export {
  type Client,
  type ClientOptions,
  createClient,
  type CreateOptions,
  type Generations,
  type RunOptions,
  type StreamOptions,
} from "./client.ts";
export type { GenerationStream, PendingReview } from "./generation-stream.ts";
export type { BodyReader, FetchedResponse, FetchInit, FetchLike } from "./http.ts";
export type { GenerationOutcome } from "./outcome.ts";
export type { RetryOptions } from "./retry-policy.ts";
export type { ClientRuntime } from "./runtime.ts";
export type { ToolResult } from "./tool-answers.ts";
export type { ToolCall, ToolContext, ToolHandler, ToolHandlers } from "./tool-answers.ts";
export { isKnownEvent, type StreamEvent } from "./stream-event.ts";
export {
  type ErrorCode,
  type Failure,
  type Generation,
  type GenerationEvent,
  type GenerationRequest,
  type GenerationStatus,
  type Message,
  type Policy,
  RepriseError,
  type Tool,
  type Usage,
} from "@reprise/protocol/wire";
