import type { StreamSeq } from "@reprise/protocol";
import type { StreamPiece } from "./stream-logs.ts";
import { encodeOffset, type StreamHead } from "./stream-record.ts";
import { isJson } from "./stream-request.ts";

/** Cursors number intervals of this length, since a time that the protocol sets. */
const CURSOR_MS = 20_000;
const CURSOR_EPOCH_MS = Date.parse("2024-10-09T00:00:00Z");
const MAX_JITTER = 180;

/** Headers that describe a stream. */
export function stateHeaders({ tail, state }: StreamHead): Record<string, string> {
  const { ttlSeconds, expiresAt, isClosed } = state;
  return {
    "stream-next-offset": encodeOffset(tail),
    ...(ttlSeconds !== undefined && { "stream-ttl": `${ttlSeconds}` }),
    ...(expiresAt !== undefined && { "stream-expires-at": expiresAt }),
    ...(isClosed && { "stream-closed": "true" }),
  };
}

/** The result of a read, for its headers. */
export interface ReadState {
  /** The offset after it. */
  readonly next: string;
  readonly isUpToDate: boolean;
  /** True at the end of a closed stream. */
  readonly isOver: boolean;
}

export function readState({ tail, state }: StreamHead, pieces: readonly StreamPiece[]): ReadState {
  const at = pieces.at(-1)?.at ?? tail;
  const isUpToDate = at === tail;
  return { next: encodeOffset(at), isUpToDate, isOver: isUpToDate && state.isClosed };
}

export function readHeaders({ next, isUpToDate, isOver }: ReadState): Record<string, string> {
  return {
    "stream-next-offset": next,
    ...(isUpToDate && { "stream-up-to-date": "true" }),
    ...(isOver && { "stream-closed": "true" }),
  };
}

/** The same bytes have the same tag, in this stream and no other of its name. */
export function etagOf({ created }: StreamHead, after: StreamSeq, { next, isOver }: ReadState): string {
  return `"${created}-${after}-${next}${isOver ? "-c" : ""}"`;
}

/** The content of a body or of one event, in parts. */
export function contentOf({ state }: StreamHead, pieces: readonly StreamPiece[]): readonly Uint8Array[] {
  const data = pieces.map((piece) => piece.data);
  return isJson(state.type) ? jsonArray(data) : data;
}

/** @param messages JSON, or several messages with commas between them, or none */
export function jsonArray(messages: readonly Uint8Array[]): readonly Uint8Array[] {
  const parts = messages.flatMap((one) => (one.length > 0 ? [COMMA, one] : [])).slice(1);
  return [OPEN, ...parts, CLOSE];
}

const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

/**
 * The cursor that keeps caches from answering a live read twice: the number of the interval, and later than the reader's own.
 * @param random from 0 to 1
 */
export function nextCursor(nowMs: number, sent: number | undefined, random: number): number {
  const current = Math.floor((nowMs - CURSOR_EPOCH_MS) / CURSOR_MS);
  if (sent === undefined || sent < current) return current;
  return Math.min(sent + 1 + Math.floor(random * MAX_JITTER), Number.MAX_SAFE_INTEGER);
}
