import type { Readable, Transform } from "node:stream";
import { constants, createBrotliDecompress, createUnzip, createZstdDecompress } from "node:zlib";
import { RepriseError } from "@reprise/protocol";
import { type Dispatcher, Pool } from "undici";
import { EngineError } from "../engine-error.ts";
import type { RequestBody } from "./request/request-body.ts";
import { trackReusedConnections } from "./reused-connections.ts";
import { toBrokenOff, toUnreachable } from "./errors/transport-error.ts";

export interface UpstreamOptions {
  /** Such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. */
  readonly apiKey?: string | undefined;
  /** Time to connect. Default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** From the request to the answer's headers, which some servers send with the first token only. Default 60 s. */
  readonly headersTimeoutMs?: number | undefined;
  /** Between two pieces of the answer; comments count. Default 60 s. */
  readonly idleTimeoutMs?: number | undefined;
  /** From an answer's last word to its end, and from the status of a refusal to the end of its text. Default 1 s. */
  readonly lingerMs?: number | undefined;
}

interface BodyTimeouts {
  readonly idleTimeoutMs: number;
  readonly lingerMs: number;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** An answer whose headers have come. `release` it, however it was read. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** @throws EngineError `engine_failed` when the answer breaks off or falls silent */
  readonly body: AsyncIterable<Uint8Array>;
  /** At most `maxBytes` of the body as text, or what has come of it within `lingerMs`; the same if it is called again. */
  readStart(maxBytes: number): Promise<string>;
  /** `complete` keeps the connection for the next request if the answer ends within `lingerMs`; else it is closed at once. */
  release(complete: boolean): void;
}

export interface PostOptions {
  readonly signal: AbortSignal;
  /** The header of this name. */
  readonly traceparent?: string | undefined;
}

export interface Upstream {
  /**
   * @param path relative to the base URL; one that begins with `../` replaces its last segment
   * @throws EngineError `engine_unavailable` when no answer begins, `engine_failed` when it is not HTTP
   * @throws the error of the body, if that fails
   * @throws the signal's reason, at once, when that aborts; the request is closed
   */
  post(path: string, body: RequestBody, options: PostOptions): Promise<UpstreamAnswer>;
  /** Throws as `post` does. */
  get(path: string, signal: AbortSignal): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_HEADERS_TIMEOUT_MS = 60_000;
const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
const DEFAULT_LINGER_MS = 1_000;
/** When TCP begins to probe a silent connection: one whose server is gone breaks within half a minute, and is not waited for. */
const PROBE_AFTER_MS = 10_000;

/**
 * One model server: a pool of keep-alive connections, one request at a time on each, as many as there are requests. A request whose
 * connection was kept from an earlier one and breaks before the answer's headers is sent once more, on a new connection. On a new one
 * it is not: what has felled a server would fell it again.
 */
export function createUpstream({ baseUrl, apiKey, ...timeouts }: UpstreamOptions): Upstream {
  const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = timeouts;
  const { headersTimeoutMs = DEFAULT_HEADERS_TIMEOUT_MS, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = timeouts;
  const { lingerMs = DEFAULT_LINGER_MS } = timeouts;
  const { origin, pathname } = new URL(baseUrl);
  // On HTTP/2 an abort would end a stream, not the connection: one more way for an upstream not to notice.
  const allowH2 = false;
  const reused = trackReusedConnections({
    timeout: connectTimeoutMs,
    allowH2,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  });
  const options = {
    connect: reused.connect,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    allowH2,
  };
  const pool = new Pool(origin, options);
  // Without pipelining undici keeps no connection: every request has a new one.
  const unpooled = new Pool(origin, { ...options, pipelining: 0 });
  const headers = {
    accept: "text/event-stream",
    "accept-encoding": "identity",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  const answerOf = async (response: Promise<Dispatcher.ResponseData>, signal: AbortSignal) => {
    try {
      return toAnswer(await untilAborted(response, signal), { idleTimeoutMs, lingerMs });
    } catch (error) {
      signal.throwIfAborted();
      // The body's own failure.
      if (error instanceof RepriseError) throw error;
      throw toUnreachable(error, { connectTimeoutMs, headersTimeoutMs });
    }
  };
  const base = pathname.replace(/\/$/, "");
  const pathOf = (path: string) =>
    path.startsWith("../") ? base.replace(/\/[^/]*$/, "") + path.slice(2) : base + path;
  return {
    get(path, signal) {
      const asked = { path: pathOf(path), headers: { ...headers, accept: "application/json" } };
      return answerOf(unpooled.request({ ...asked, method: "GET", signal }), signal);
    },
    async post(path, body, { signal, traceparent }) {
      const request = {
        path: pathOf(path),
        method: "POST" as const,
        headers: {
          ...headers,
          "content-type": "application/json",
          "content-length": String(body.bytes),
          ...(traceparent !== undefined && { traceparent }),
        },
        signal,
      };
      const response = pool.request({ ...request, body: body.open() }).catch((error: unknown) => {
        if (signal.aborted || !reused.wasBroken(error)) throw error;
        return unpooled.request({ ...request, body: body.open() });
      });
      return answerOf(response, signal);
    },
    async close() {
      await Promise.all([pool.destroy(), unpooled.destroy()]);
    },
  };
}

/** The pool checks the signal only once it has a connection, which may take as long as `connectTimeoutMs`. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function toAnswer(
  response: Dispatcher.ResponseData,
  { idleTimeoutMs, lingerMs }: BodyTimeouts,
): UpstreamAnswer {
  const { statusCode: status, headers } = response;
  const body = decompress(response.body, headers["content-encoding"]);
  // Without a listener Node would throw when the connection breaks while nothing reads; a reader gets the error from the iteration.
  body.on("error", () => undefined);
  let start: Promise<string> | undefined;
  return {
    status,
    headers,
    body: readAll(body, idleTimeoutMs),
    readStart: (maxBytes) => (start ??= readStart(body, maxBytes, lingerMs)),
    release(complete) {
      if (!complete) body.destroy();
      if (body.destroyed) return;
      const timer = setTimeout(() => body.destroy(), lingerMs);
      body.once("close", () => clearTimeout(timer));
      body.resume();
    },
  };
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  "x-gzip": () => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** Gateways compress answers though `identity` is asked for. */
function decompress(body: Readable, encoding: string | string[] | undefined): Readable {
  const decoder = DECODERS[String(encoding).trim().toLowerCase()]?.();
  if (!decoder) return body;
  body.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => body.destroy());
  return body.pipe(decoder);
}

/** The body with its failures as the adapter's own. An iterator and no generator, which would cost every piece a round of promises. */
function readAll(body: Readable, idleTimeoutMs: number): AsyncIterable<Uint8Array> {
  const fail = (error: unknown): never => {
    throw error instanceof EngineError ? error : toBrokenOff(error, idleTimeoutMs);
  };
  return {
    [Symbol.asyncIterator]() {
      const pieces: AsyncIterator<Uint8Array> = body.iterator({ destroyOnReturn: false });
      return {
        next: () => pieces.next().catch(fail),
        return: async () => (await pieces.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

async function readStart(body: Readable, maxBytes: number, lingerMs: number): Promise<string> {
  const timer = setTimeout(() => body.destroy(), lingerMs);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const bytes of body.iterator({ destroyOnReturn: false })) {
      chunks.push(bytes as Buffer);
      length += (bytes as Buffer).length;
      if (length >= maxBytes) break;
    }
  } catch {
    // What has come is all there is; the caller has an error to report already.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).toString("utf8", 0, Math.min(length, maxBytes));
}
