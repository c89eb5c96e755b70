import { type Dispatcher, Pool } from "undici";
import type { Unjudged } from "./classifier.ts";

export interface EndpointOptions {
  /** Such as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. */
  readonly apiKey?: string | undefined;
  /** Time to connect, in milliseconds. */
  readonly connectTimeoutMs: number;
}

export type JsonAnswer = { readonly kind: "json"; readonly value: unknown } | Unjudged;

export interface JsonEndpoint {
  /** @throws the signal's reason, when that aborts; the request is closed */
  post(path: string, body: object, signal: AbortSignal): Promise<JsonAnswer>;
  /** Closes the connections. Active requests end as unavailable. */
  close(): Promise<void>;
}

/** Far more than a judgement has. */
const MAX_ANSWER_BYTES = 256 * 1_024;
/** The connection was reset, written to when it was gone, or closed by the other side. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
/** Refusals that are about this input: bad request, too large, unprocessable. Any other may go away without it. */
const INPUT_REFUSED = new Set([400, 413, 422]);

/**
 * A server that answers JSON with JSON, on connections that are kept alive. A connection that breaks before its answer is whole may
 * have been closed in the moment in which it was used again, and a judgement changes nothing: it is asked for once more.
 */
export function createJsonEndpoint({ baseUrl, apiKey, connectTimeoutMs }: EndpointOptions): JsonEndpoint {
  const { origin, pathname } = new URL(baseUrl);
  const pool = new Pool(origin, { connect: { timeout: connectTimeoutMs }, allowH2: false });
  const headers = {
    accept: "application/json",
    "content-type": "application/json",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };

  async function exchange(path: string, body: string, signal: AbortSignal): Promise<JsonAnswer> {
    const request = {
      path: pathname.replace(/\/$/, "") + path,
      method: "POST" as const,
      headers,
      body,
      signal,
    };
    return readAnswer(await pool.request(request));
  }

  return {
    async post(path, body, signal) {
      // Not every server's JSON parser takes half a surrogate pair, and an event may end in the middle of one.
      const text = JSON.stringify(body, (_, value: unknown) =>
        typeof value === "string" ? value.toWellFormed() : value,
      );
      try {
        return await exchange(path, text, signal).catch((error: unknown) => {
          if (signal.aborted || !BROKEN.has(codeOf(error))) throw error;
          return exchange(path, text, signal);
        });
      } catch (error) {
        signal.throwIfAborted();
        // The error itself is not passed on: some hold bytes of the answer.
        return { kind: "unjudged", reason: "unavailable", detail: codeOf(error) };
      }
    },
    close: () => pool.destroy(),
  };
}

async function readAnswer({ statusCode, body }: Dispatcher.ResponseData): Promise<JsonAnswer> {
  if (statusCode !== 200) {
    // The body may repeat the request, so it must not be logged: it is not even read.
    body.on("error", () => undefined).destroy();
    const reason = INPUT_REFUSED.has(statusCode) ? "invalid" : "unavailable";
    return { kind: "unjudged", reason, detail: String(statusCode) };
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) return { kind: "unjudged", reason: "invalid", detail: "too long" };
  }
  try {
    return { kind: "json", value: JSON.parse(Buffer.concat(chunks).toString("utf8")) };
  } catch {
    return { kind: "unjudged", reason: "invalid", detail: "not JSON" };
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
