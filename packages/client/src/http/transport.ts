import { createSseDecoder, type ErrorCode, RepriseError, type SseDecoder } from "@reprise/protocol/wire";
import { callJson, retried } from "./call.ts";
import { type Exchange, type HttpRequest, type HttpSettings, openExchange } from "./http.ts";
import { toIdempotencyKey } from "./idempotency-key.ts";

/**
 * What the package's other modules make their calls with: with the client's key or tokens, its `fetch`, and its patience. For them alone: it may
 * change with any version.
 */
export interface Transport {
  /** A call that is answered with JSON, or with nothing: repeated after every error that is retryable, so it must be one that may arrive twice. */
  call<T>(request: HttpRequest, signal?: AbortSignal): Promise<T>;
  /** One exchange, which the caller closes. */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<Exchange>;
  /** Makes an attempt, and another one after every error that is retryable. */
  retry<T>(attempt: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** The app's key, or a new one. @throws RepriseError `invalid_request` */
  keyFor(given: string | undefined): string;
  /** For the bodies of exchanges that are `text/event-stream`: a new one for each. */
  sse(): SseDecoder;
  /** An error of the class that the client throws: each module of the package is a bundle of its own. */
  error(code: ErrorCode, message: string): RepriseError;
}

export function createTransport(settings: HttpSettings): Transport {
  return {
    call: <T>(request: HttpRequest, signal?: AbortSignal) =>
      callJson(settings, request, signal) as Promise<T>,
    exchange: (request, signal) => openExchange(settings, request, signal),
    retry: (attempt, signal) => retried(settings, attempt, signal),
    keyFor: (given) => toIdempotencyKey(given, () => settings.runtime.random()),
    sse: createSseDecoder,
    error: (code, message) => new RepriseError(code, message),
  };
}
