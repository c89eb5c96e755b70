/*
 * How an event looks on a `text/event-stream`: an `id:` line with the cursor directly before one `data:` line with the stored
 * payload, then a blank line. Payloads are JSON on one line, so they hold neither CR nor LF and need no splitting.
 */

/** One frame as text. */
export function encodeSseFrame(cursor: string, payload: string): string {
  return `id: ${cursor}\ndata: ${payload}\n\n`;
}

/**
 * A comment that keeps connections open. One LF only: a blank line after a comment makes some clients deliver an empty message (reference:
 * @microsoft/fetch-event-source 2.0.1). Allowed only between frames.
 */
export const SSE_HEARTBEAT = ": ping\n";

/** Milliseconds of the `retry:` field at the beginning of every stream. Clients add jitter to it; a node that drains gives each reader a different time. */
export const SSE_RECONNECT_MS = 250;

/** Encodes the delay before a client reconnects. It has no blank line of its own: it is sent with the next frame. */
export function encodeSseRetry(retryMs: number): string {
  return `retry: ${Math.round(retryMs)}\n`;
}

/** An error inside a stream whose headers are gone. It has no `id`, so it moves no reader's cursor. */
export function encodeSseError(body: string): string {
  return `event: error\ndata: ${body}\n\n`;
}

/** Headers of every `text/event-stream` answer: nothing between us and the client may buffer, cache or compress it. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;
