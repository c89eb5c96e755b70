import type { Generation, GenerationRequest as Parsed } from "@reprise/protocol/wire";
import { callGeneration, sendOnce } from "./http/call.ts";
import { GenerationStream } from "./stream/generation-stream.ts";
import type { FetchLike, HttpRequest, HttpSettings } from "./http/http.ts";
import { assertAtLeast, assertVisible, invalidOption } from "./invalid-option.ts";
import { createCredentials } from "./http/credentials.ts";
import { pathSegment, createTransport, type Transport } from "./http/transport.ts";
import { createRetryPolicy, type RetryOptions } from "./retry/retry-policy.ts";
import { type ClientRuntime, SYSTEM_RUNTIME } from "./retry/runtime.ts";
import type { ToolResult, ToolHandlers } from "./stream/tool-answers.ts";
import type { StreamSource } from "./stream/stream-source.ts";

/** A request as an app writes it: its ids are the strings that the platform has answered with. */
export type GenerationRequest = Omit<Parsed, "conversation" | "previous_generation" | "input_stream"> & {
  /** Whose next turn it is: its model is given what was said before, and then `input`. */
  conversation?: string | undefined;
  /** The turn of the conversation that this request follows. Default: the last. */
  previous_generation?: string | undefined;
};

/** A request whose input is sent with `inputOf` while the generation runs. */
export type StreamedRequest = Omit<GenerationRequest, "input"> & {
  input: { stream: NonNullable<Parsed["input_stream"]> };
};

export interface ClientOptions {
  /** Where the platform is: `https://…`, with a path if it has one, or a path of the page's own origin. */
  url: string;
  /** For servers. One of this, `token` and `getToken`. */
  apiKey?: string;
  /** A stream token, for browsers and phones that need it no longer than it lasts. */
  token?: string;
  /**
   * Gets a stream token from the app's own backend: called before the first request, some time before a token's end, and when the platform
   * takes one no more. Attached streams move over to a fresh token, and lose and repeat nothing. What it throws is retried as a broken connection is.
   */
  getToken?: () => string | Promise<string>;
  /** Default: the global one. React Native needs one that streams, such as that of `expo/fetch`. */
  fetch?: FetchLike;
  retry?: RetryOptions;
  /**
   * True to report each stream's timings to the platform as it ends: its round trip, the first event and text, the longest gap, reconnects. Numbers only, in
   * one small request that is tried once, without waiting for it. Default false.
   */
  reportTimings?: boolean;
  /** A connection that is silent for so long is dead. Default 45,000: three heartbeats. */
  idleTimeoutMs?: number;
  /**
   * Replaces parts of the runtime: time and randomness in tests, `onWake` if the app knows better than a page's `online` and `visibilitychange` events when a
   * network is back.
   */
  runtime?: Partial<ClientRuntime>;
}

export interface CreateOptions {
  /** 1 to 255 visible ASCII characters; the same key always names the same generation. Default: a new one for each call. */
  idempotencyKey?: string;
  /** Stops waiting and retrying. Cancels nothing: created generations continue. */
  signal?: AbortSignal;
}

export interface RunOptions extends CreateOptions {
  /**
   * Functions that answer the model's tool calls as the stream hands them out, by the names in the request. They run beside the loop. An error that one
   * throws is thrown from the loop and by `done()`, and the generation keeps waiting.
   */
  tools?: ToolHandlers;
  /**
   * True if the loop, and `done()`, continue after the generation's end until all reviews of its text are decided, by people or by the policy when their time
   * is up: it is asked again every `retry.reviewDelayMs`, for as long as that takes. Default false.
   */
  awaitReviews?: boolean;
}

export interface StreamOptions {
  /** A cursor: continue after this position. Default: from the start. */
  after?: string | undefined;
  signal?: AbortSignal;
  /** Same as for `run`. A call before `after` is not handed out, and not answered. */
  tools?: ToolHandlers;
  /** Same as for `run`. */
  awaitReviews?: boolean;
}

/** Every method throws RepriseError; those that return a promise retry what is retryable, and never run a model twice. */
export interface Generations {
  /** Starts a generation, or joins the one that has this key. Resolves when it is stored durably. */
  create(request: GenerationRequest | StreamedRequest, options?: CreateOptions): Promise<Generation>;
  /** A generation as it is now: its status, its text so far, and the cursor up to which that goes. */
  get(id: string, options?: { signal?: AbortSignal }): Promise<Generation>;
  /** Ends a generation for all its readers. Resolves when that is stored; one that has ended stays as it ended. */
  cancel(id: string, options?: { reason?: string; signal?: AbortSignal }): Promise<Generation>;
  /**
   * Answers a tool call; the generation continues when all waiting calls are answered. Resolves when the answer is stored.
   * @throws RepriseError `tool_result_conflict` when the call has an answer: another caller's, or this one if an earlier try succeeded and its reply was
   *   lost; `tool_call_not_found`, `generation_ended`
   */
  submitToolResult(id: string, result: ToolResult, options?: { signal?: AbortSignal }): Promise<Generation>;
  /** Follows a generation. */
  stream(id: string, options?: StreamOptions): GenerationStream;
  /** Starts a generation and follows it, in one request. */
  run(request: GenerationRequest | StreamedRequest, options?: RunOptions): GenerationStream;
}

export interface Client {
  readonly generations: Generations;
  /** Transport for the calls of `@reprise/client/conversations`, `/blobs` and `/models`. */
  readonly transport: Transport;
}

/**
 * A client for one platform and one key. Holds no connection of its own and needs no closing.
 * @throws RepriseError `invalid_request` that names the wrong option
 */
export function createClient(options: ClientOptions): Client {
  const settings = toSettings(options);
  const transport = createTransport(settings);
  return { generations: createGenerations(settings, transport, options.reportTimings === true), transport };
}

function createGenerations(
  settings: HttpSettings,
  transport: Transport,
  reportsTimings: boolean,
): Generations {
  const post = (path: string, value: object, signal?: AbortSignal) =>
    callGeneration(settings, { method: "POST", path, body: JSON.stringify(value) }, signal);
  const control: Pick<Generations, "get" | "cancel" | "submitToolResult"> = {
    async get(id, { signal } = {}) {
      return callGeneration(settings, { method: "GET", path: pathOf(id) }, signal);
    },
    async cancel(id, { reason, signal } = {}) {
      return post(`${pathOf(id)}/cancel`, { reason }, signal);
    },
    async submitToolResult(id, { callId, ...result }, { signal } = {}) {
      return post(`${pathOf(id)}/tool-results`, { call_id: callId, ...result }, signal);
    },
  };
  const report: StreamSource["report"] = (id, timings) => {
    const body = JSON.stringify(timings);
    void sendOnce(settings, { method: "POST", path: `${pathOf(id)}/timings`, body });
  };
  const follow = (source: Pick<StreamSource, "id" | "request" | "identify">, options: StreamOptions) =>
    new GenerationStream(settings, {
      ...options,
      ...control,
      ...source,
      report: reportsTimings ? report : undefined,
    });

  function toCreate(
    request: GenerationRequest | StreamedRequest,
    idempotencyKey: string | undefined,
  ): HttpRequest {
    const headers = { "idempotency-key": transport.keyFor(idempotencyKey) };
    return { method: "POST", path: "/v1/generations", headers, body: JSON.stringify(request) };
  }

  return {
    ...control,
    async create(request, { idempotencyKey, signal } = {}) {
      return callGeneration(settings, toCreate(request, idempotencyKey), signal);
    },
    stream(id, options = {}) {
      const request: StreamSource["request"] = (_id, cursor) => toRead(id, cursor, options.after);
      return follow({ id, request, identify: async () => id }, options);
    },
    run(body, { idempotencyKey, ...options } = {}) {
      const create = toCreate(body, idempotencyKey);
      // Where the answer got lost, or a proxy took its id away, the create is repeated: its key joins.
      const request: StreamSource["request"] = (id, cursor) =>
        id === undefined ? withStream(create, cursor) : toRead(id, cursor);
      return follow({ request, identify: async () => (await callGeneration(settings, create)).id }, options);
    },
  };
}

function toRead(id: string, cursor: string | undefined, after?: string): HttpRequest {
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  return withStream({ method: "GET", path: `${pathOf(id)}/events${query}` }, cursor);
}

function withStream(request: HttpRequest, cursor: string | undefined): HttpRequest {
  const headers: Record<string, string> = { ...request.headers, accept: "text/event-stream" };
  if (cursor !== undefined) headers["last-event-id"] = cursor;
  return { ...request, headers };
}

function pathOf(id: string): string {
  return `/v1/generations/${pathSegment(id)}`;
}

function toSettings({
  url,
  apiKey,
  token,
  getToken,
  fetch,
  retry,
  idleTimeoutMs = 45_000,
  runtime,
}: ClientOptions): HttpSettings {
  if (!/^(https?:\/\/|\/)/i.test(url)) throw invalidOption("url", "must begin with http://, https:// or /");
  const [secret, other] = [apiKey, token, getToken].filter((given) => given !== undefined);
  if (secret === undefined || other !== undefined)
    throw invalidOption("apiKey", "or token or getToken must be given, and no two");
  if (typeof secret === "string") assertVisible(secret, apiKey === undefined ? "token" : "apiKey");
  assertAtLeast(1, idleTimeoutMs, "idleTimeoutMs");
  const around = { ...SYSTEM_RUNTIME, ...runtime };
  return {
    baseUrl: url.replace(/\/+$/, ""),
    credentials: createCredentials(secret, around),
    // Looked up at each call, and called as a function of its own: browsers refuse a fetch that has another `this`.
    fetch: fetch ?? ((target, init) => globalThis.fetch(target, init)),
    runtime: around,
    retry: createRetryPolicy(retry),
    idleTimeoutMs,
  };
}
