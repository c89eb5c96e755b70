import { RepriseError } from "@reprise/protocol/wire";
import { invalidOption } from "../invalid-option.ts";
import { abortReason, withDeadline } from "../retry/deadline.ts";
import { parseErrorAnswer, parseRetryAfter } from "./error-answer.ts";
import type { RetryPolicy } from "../retry/retry-policy.ts";
import type { Credentials } from "./credentials.ts";
import type { ClientRuntime } from "../retry/runtime.ts";

/** The part of `fetch` that the client needs. The `fetch` of browsers, of Node and of `expo/fetch` all fit. */
export type FetchLike = (url: string, init: FetchInit) => Promise<FetchedResponse>;

export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string | ArrayBuffer;
  signal: AbortSignal;
  cache: "no-store";
}

export interface FetchedResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): BodyReader } | null;
  text(): Promise<string>;
}

export interface BodyReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}

/** Settings to reach one platform; the same for all calls of a client. */
export interface HttpSettings {
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly fetch: FetchLike;
  readonly runtime: ClientRuntime;
  readonly retry: RetryPolicy;
  /** Milliseconds for which a connection may be silent, including before its headers. */
  readonly idleTimeoutMs: number;
}

export interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  /** JSON, unless `headers` says that it is something else. */
  body?: string | ArrayBuffer;
}

/** One request and its answer. Its opener closes it, also after a failure. */
export interface Exchange {
  readonly status: number;
  /** The secret that authorised it. */
  readonly secret: string;
  header(name: string): string | null;
  /** The next bytes of the body; undefined at its clean end. */
  read(): Promise<Uint8Array | undefined>;
  text(): Promise<string>;
  /** The error that an answer which is not the hoped-for one means. */
  error(): Promise<RepriseError>;
  close(): void;
}

/**
 * Sends a request and resolves with the head of its answer.
 * @throws RepriseError `connection_lost` when the connection fails or is silent for too long; so do the methods of the result.
 *   When the signal is aborted, its reason is thrown instead.
 */
export async function openExchange(
  settings: HttpSettings,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Exchange> {
  const { runtime, idleTimeoutMs: timeoutMs } = settings;
  const controller = new AbortController();
  const close = (): void => {
    signal.removeEventListener("abort", close);
    controller.abort();
  };
  signal.addEventListener("abort", close);

  async function guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await withDeadline(work(), { runtime, timeoutMs, signal });
    } catch (cause) {
      if (signal.aborted) throw abortReason(signal);
      if (cause instanceof RepriseError) throw cause;
      throw new RepriseError("connection_lost", "The connection broke or could not be made.", { cause });
    }
  }

  const { credentials } = settings;
  const attempt = async () => {
    const secret = await credentials.get();
    return { secret, response: await send(settings, request, secret, controller.signal) };
  };
  let sent;
  try {
    sent = await guard(attempt);
    if (sent.response.status === 401 && credentials.refuse(sent.secret)) sent = await guard(attempt);
  } catch (error) {
    close();
    throw error;
  }
  const { response, secret } = sent;
  let reader: BodyReader | undefined;
  return {
    secret,
    status: response.status,
    header: (name) => response.headers.get(name),
    async read() {
      reader ??= openBody(response);
      const from = reader;
      return (await guard(() => from.read())).value;
    },
    text: () => guard(() => response.text()),
    async error() {
      const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"), runtime.now());
      const body = await guard(() => response.text());
      return parseErrorAnswer(body, { status: response.status, retryAfterMs });
    },
    close,
  };
}

async function send(
  settings: HttpSettings,
  request: HttpRequest,
  secret: string,
  signal: AbortSignal,
): Promise<FetchedResponse> {
  const { method, path, body } = request;
  const headers: Record<string, string> = { ...request.headers, authorization: `Bearer ${secret}` };
  if (body !== undefined) headers["content-type"] ??= "application/json";
  return settings.fetch(settings.baseUrl + path, {
    method,
    headers,
    ...(body !== undefined && { body }),
    signal,
    cache: "no-store",
  });
}

function openBody({ body }: FetchedResponse): BodyReader {
  if (body) return body.getReader();
  throw invalidOption("fetch", "can't stream a body; pass one that can, such as expo/fetch");
}
