import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Target } from "../target.ts";

export interface CallOptions {
  /** Default: the target's key. Null sends no `Authorization`. */
  readonly key?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is. */
  readonly bytes?: string | Uint8Array;
}

export interface Answer {
  /** Method, path and status, for messages. */
  readonly name: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** An empty object if the body is not a JSON object. */
  readonly json: Readonly<Record<string, unknown>>;
}

/**
 * Makes a call with exactly the given headers: `fetch` would add an `Accept`.
 * @param call method and path, such as `GET /v1/models`
 */
export async function call(target: Target, name: string, options: CallOptions = {}): Promise<Answer> {
  const response = await open(target, name, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { statusCode: status = 0, headers } = response;
  return { name, status, headers, text, json: parseObject(text) };
}

/** Resolves with the headers. */
export function open(
  target: Target,
  name: string,
  {
    key = target.key,
    headers = {},
    body,
    bytes = body === undefined ? undefined : JSON.stringify(body),
  }: CallOptions,
): Promise<IncomingMessage> {
  const [method, path = ""] = name.split(" ");
  const url = new URL(`${target.url.replace(/\/$/, "")}${path}`);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = send(url, {
    method,
    agent: false,
    signal: target.signal,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(bytes !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
  });
  request.on("response", resolve);
  // After the response this is also how a refused body's connection ends.
  request.on("error", (cause) => reject(new Error(`${name}: no answer (${cause.message})`, { cause })));
  request.end(bytes);
  return promise;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
