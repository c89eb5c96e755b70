import type { FetchInit } from "../http/http.ts";

/** Returns the frame that makes a call, and its key or token; undefined for a call that has no frame. */
export function toFrame(
  path: string,
  { method, headers, body }: FetchInit,
): { frame: object; secret: string } | undefined {
  const frame = typeof body === "string" ? postFrame(path, method, headers, body) : getFrame(path, headers);
  const secret = `${headers["authorization"]}`.slice("Bearer ".length);
  return frame && secret.length <= MAX_TOKEN_LENGTH ? { frame, secret } : undefined;
}

function postFrame(
  path: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): object | undefined {
  if (method !== "POST" || body.length > MAX_LENGTH) return undefined;
  const value = JSON.parse(body) as Record<string, unknown>;
  if (path === "/v1/generations") {
    const follow = headers["accept"] === "text/event-stream";
    const after = headers["last-event-id"];
    // A create that joins and continues after a cursor has no frame.
    if (after !== undefined) return undefined;
    return { op: "create", request: value, idempotency_key: headers["idempotency-key"], follow };
  }
  const [, id = "", call = ""] =
    /^\/v1\/generations\/([^/]{1,64})\/(input|cancel|interrupt|tool-results)$/.exec(path) ?? [];
  const op = OPS[call];
  return op === undefined ? undefined : { ...value, op, generation: decodeURIComponent(id) };
}

const OPS: Readonly<Record<string, string>> = {
  input: "input",
  cancel: "cancel",
  interrupt: "interrupt",
  "tool-results": "tool",
};
const MAX_TOKEN_LENGTH = 4_096;
/** Characters of a body: a frame has a MiB at most, and a character three bytes. */
const MAX_LENGTH = 300_000;

function getFrame(path: string, headers: Readonly<Record<string, string>>): object | undefined {
  const [, id, query] = /^\/v1\/generations\/([^/]{1,64})\/events(?:\?after=([^&]*))?$/.exec(path) ?? [];
  if (id === undefined || headers["accept"] !== "text/event-stream") return undefined;
  const after = headers["last-event-id"] ?? (query && decodeURIComponent(query));
  return { op: "follow", generation: decodeURIComponent(id), after };
}
