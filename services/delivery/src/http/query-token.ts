import type { IncomingMessage } from "node:http";

/** The one path on which a stream token may be in the query: an EventSource can't send headers. */
const EVENTS_PATH = /^\/v1\/generations\/[^/?]+\/events\?/;
const PARAMETER = "token=";

const taken = new WeakMap<IncomingMessage, string>();

/**
 * Takes the token out of a request for events, before anything else sees its URL: no route, error, log line or trace can repeat it then.
 * @returns the URL without it
 */
export function takeQueryToken(request: IncomingMessage): string {
  const { url = "/", method } = request;
  if (method !== "GET" || !EVENTS_PATH.test(url)) return url;
  const [path, query] = splitOnce(url, "?");
  const parts = query.split("&");
  const tokens = parts.filter((part) => part.startsWith(PARAMETER));
  const [token] = tokens;
  if (token === undefined) return url;
  // Of two tokens neither counts.
  if (tokens.length === 1) taken.set(request, token.slice(PARAMETER.length));
  const rest = parts.filter((part) => !part.startsWith(PARAMETER)).join("&");
  return rest === "" ? path : `${path}?${rest}`;
}

/** The token that came in the query. */
export function queryTokenOf(request: IncomingMessage): string | undefined {
  return taken.get(request);
}

function splitOnce(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + 1)];
}
