import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TrustedProxies } from "./client-address.ts";

export const REQUEST_ID_HEADER = "X-Request-Id";

/** Shorter than any stream token. */
const FORM = /^[A-Za-z0-9._-]{8,64}$/;
const API_KEY = /^r[ko]_/;

/** `req_` and 16 characters. */
export function createRequestId(): string {
  return `req_${randomBytes(12).toString("base64url")}`;
}

/**
 * The id of a request, in its answer and in each log line about it: the one that a trusted proxy sends, so that its logs and ours can be
 * joined, or a new one. One that comes from a client without such a proxy is never logged: it might be a secret, or the id of another request.
 */
export function requestIdOf(request: IncomingMessage, proxies: TrustedProxies): string {
  const { "x-request-id": sent } = request.headers;
  if (typeof sent !== "string" || !proxies.haveSent(request)) return createRequestId();
  return FORM.test(sent) && !API_KEY.test(sent) ? sent : createRequestId();
}
