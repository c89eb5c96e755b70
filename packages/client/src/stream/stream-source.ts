import type { Generation } from "@reprise/protocol/wire";
import type { HttpRequest } from "../http/http.ts";
import type { TimingsReport } from "./reading-timings.ts";
import type { ToolHandlers, ToolResult } from "./tool-answers.ts";

/** Where a stream gets its connections from and what else it can ask of the platform. */
export interface StreamSource {
  /** Undefined while a create-and-stream has not been answered. */
  readonly id?: string;
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Handlers that answer the tool calls handed out; without them, calls are not answered. */
  readonly tools?: ToolHandlers | undefined;
  /** True if the stream continues after the generation's end until no review waits. */
  readonly awaitReviews?: boolean | undefined;
  /** The request for the next connection; `cursor` is undefined until an event has been handed out. */
  request(id: string | undefined, cursor: string | undefined): HttpRequest;
  /** The id of a generation that has none here yet. */
  identify(): Promise<string>;
  get(id: string, options: { signal: AbortSignal }): Promise<Generation>;
  cancel(id: string, options: { reason?: string }): Promise<Generation>;
  submitToolResult(id: string, result: ToolResult, options: { signal: AbortSignal }): Promise<Generation>;
  /** Tells the platform what the reading took; without it, nothing is measured. */
  readonly report?: ((id: string, timings: TimingsReport) => void) | undefined;
}
