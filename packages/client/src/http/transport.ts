import { createSseDecoder, type ErrorCode, RepriseError, type SseDecoder } from "@reprise/protocol/wire";
import { callJson, retried } from "./call.ts";
import { type Exchange, type HttpRequest, type HttpSettings, openExchange } from "./http.ts";
import { assertVisible, invalidOption } from "../invalid-option.ts";

/**
 * Makes the calls of the package's other modules, with the client's key or tokens, `fetch` and retry policy. It may change with any version.
 *
 * Each module is a bundle of its own, so a module that imports shared code repeats it, and a class that it imports is another class than the
 * client's. Shared code is therefore passed here.
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
  /** @throws RepriseError `invalid_request` */
  segment(id: string): string;
  error(code: ErrorCode, message: string): RepriseError;
}

export function createTransport(settings: HttpSettings): Transport {
  return {
    call: <T>(request: HttpRequest, signal?: AbortSignal) =>
      callJson(settings, request, signal) as Promise<T>,
    exchange: (request, signal) => openExchange(settings, request, signal),
    retry: (attempt, signal) => retried(settings, attempt, signal),
    keyFor: (given) =>
      assertVisible(given ?? createIdempotencyKey(() => settings.runtime.random()), "idempotencyKey", 255),
    segment: pathSegment,
    sse: createSseDecoder,
    error: (code, message) => new RepriseError(code, message),
  };
}

/** React Native has no `crypto`, and pages that came over plain http no `crypto.randomUUID`. */
function createIdempotencyKey(random: () => number): string {
  const bytes = new Uint8Array(16).map(() => random() * 256);
  (globalThis as { crypto?: Crypto }).crypto?.getRandomValues?.(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Encodes an id as one segment of a path. Refuses "", `.` and `..`: a URL resolves them, however they are encoded, so the call would be another one.
 * @throws RepriseError `invalid_request`
 */
export function pathSegment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw invalidOption("id", `can't be ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}
