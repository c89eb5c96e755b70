export {
  type Client,
  type ClientOptions,
  createClient,
  type CreateOptions,
  type Generations,
  type RunOptions,
  type StreamOptions,
  type GenerationRequest,
  type StreamedRequest,
} from "./client.ts";
export type { GenerationStream, PendingReview } from "./stream/generation-stream.ts";
export type { Transport } from "./http/transport.ts";
export type { BodyReader, FetchedResponse, FetchInit, FetchLike } from "./http/http.ts";
export type { GenerationOutcome } from "./stream/outcome.ts";
export type { RetryOptions } from "./retry/retry-policy.ts";
export type { ClientRuntime } from "./retry/runtime.ts";
export type { ToolResult } from "./stream/tool-answers.ts";
export type { ToolCall, ToolContext, ToolHandler, ToolHandlers } from "./stream/tool-answers.ts";
export { isKnownEvent, type StreamEvent } from "./transcript/stream-event.ts";
export {
  type ErrorCode,
  type Failure,
  type Generation,
  type GenerationEvent,
  type GenerationStatus,
  type Message,
  type Policy,
  type Priority,
  RepriseError,
  type Tool,
  type ToolContent,
  type Usage,
} from "@reprise/protocol/wire";
