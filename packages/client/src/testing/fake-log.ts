import { type Generation, START, Transcript } from "@reprise/protocol/wire";
import type { StreamEvent } from "../transcript/stream-event.ts";

export const FAKE_ID = "gen_0_fake";

/** Unlike those of the platform, so that a client which reads meaning into a cursor fails. */
export function cursorOf(seq: number): string {
  return `~${(seq * 7_919).toString(36)}!`;
}

export function seqOfCursor(cursor: string | null): number {
  return cursor === null ? START.seq : parseInt(cursor.slice(1, -1), 36) / 7_919;
}

export function encodeFrame(event: StreamEvent): string {
  return `id: ${cursorOf(event.seq)}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Answer of `GET /v1/generations/{id}` when all of the log is written. */
export function generationOf(log: readonly StreamEvent[]): Generation {
  const transcript = new Transcript();
  for (const event of log) transcript.apply(event);
  const { status, text, usage, failure = null, finishReason = null, pendingCalls } = transcript;
  return {
    id: FAKE_ID,
    object: "generation",
    status,
    model: "sim",
    text,
    usage,
    error: failure,
    finish_reason: finishReason,
    tool_calls: pendingCalls.map(({ type: _type, ...call }) => call),
    reviews: [...transcript.reviews.values()].map(({ review_id, expires_at }) => ({
      id: `${FAKE_ID}.${review_id}`,
      expires_at,
    })),
    settled: transcript.ended && transcript.reviews.size === 0,
    cursor: cursorOf(log.length),
    created_at: "2026-11-21T00:00:00.000Z",
    metadata: {},
  };
}
