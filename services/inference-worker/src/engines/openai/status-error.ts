import { RepriseError } from "@reprise/protocol";
import { quoteUpstream, type Secrets } from "./quote-upstream.ts";
import { parseRetryAfterMs } from "./retry-after.ts";
import type { UpstreamAnswer } from "./upstream.ts";

const MAX_ERROR_BYTES = 64 * 1_024;
/** Those that may be different next time: a timeout, a conflict of requests, too early, too many. */
const PASSING = new Set([408, 425, 429]);

/** Whether the answer is what was asked for. */
export function isEventStream({ status, headers }: UpstreamAnswer): boolean {
  return status === 200 && /^\s*text\/event-stream\s*(;|$)/i.test(String(headers["content-type"]));
}

/** An answer that is no stream of events, as an error. Reads what it says. */
export async function toStatusError(
  answer: UpstreamAnswer,
  secrets: Secrets,
  nowMs: number,
): Promise<RepriseError> {
  const { status, headers } = answer;
  // Upstreams like to repeat a key that they don't know, and what is wrong with the platform's key is not for clients.
  if (status === 401 || status === 403)
    return new RepriseError("engine_rejected", `The engine refused the platform's key (${status}).`);
  const quote = quoteUpstream(parseText(await answer.readStart(MAX_ERROR_BYTES)), secrets);
  const said = quote === undefined ? "" : `: ${quote}`;
  if (status >= 500 || PASSING.has(status)) {
    return new RepriseError("engine_unavailable", `The engine answered ${status}${said}`, {
      retryAfterMs: parseRetryAfterMs(headers, nowMs),
    });
  }
  if (status >= 400) return new RepriseError("engine_rejected", `The engine answered ${status}${said}`);
  return new RepriseError(
    "engine_failed",
    `The engine answered ${status}, but not with text/event-stream${said}`,
  );
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A page of a proxy, or JSON cut at the limit: there is no message to find in the one and text in the other.
    return text.trimStart().startsWith("<") ? undefined : text;
  }
}
