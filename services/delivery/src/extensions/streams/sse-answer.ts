import { type DurableStreamName, SSE_HEARTBEAT, type StreamSeq } from "@reprise/protocol";
import { mediaTypeOf, notFound } from "./next-record.ts";
import { contentOf, nextCursor, type ReadState, readState } from "./stream-answers.ts";
import type { StreamFeed } from "./stream-feeds.ts";
import type { StreamLogs, StreamPiece } from "./stream-logs.ts";
import type { StreamHead } from "./stream-record.ts";
import { isJson } from "./stream-request.ts";

export interface SseAnswer {
  readonly logs: StreamLogs;
  readonly feed: StreamFeed;
  readonly stream: DurableStreamName;
  readonly head: StreamHead;
  /** The offset to begin after. */
  readonly after: StreamSeq;
  /** What was read of it already. */
  readonly first: readonly StreamPiece[];
  readonly cursor: number | undefined;
  /** Aborted when the client leaves or the node drains. */
  readonly signal: AbortSignal;
  /** Called with the bytes of what was there before the reader had caught up. */
  readonly onReplay: (bytes: number) => void;
  /** @throws RepriseError when the caller may not read any more */
  readonly assertMayRead: () => void;
}

/** Headers of an answer with events. */
export const EVENT_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};
/** An answer ends after this time, so that caches in between can share it; its reader comes back. */
export const ANSWER_MS = 60_000;
export const HEARTBEAT_MS = 15_000;
/** Bytes that are read for an answer at a time, unless one record has more: its client may take them slowly. */
export const SSE_BYTES = 64 * 1_024;
/** How often a reader that waits is looked after. */
export const CHECK_MS = 1_000;
const CR_OR_LF = /\r\n|\r|\n/;

/** True for content that events carry as base64: all but text and JSON. */
export function isBinary(type: string): boolean {
  return !isJson(type) && !mediaTypeOf(type).startsWith("text/");
}

/**
 * The events of a stream from an offset on: each `data` with the content of one record, and a `control` after it. It is read as the client takes it. It breaks
 * if the stream is deleted: its end in order says that the reader has to come back, or that the stream is closed.
 */
export async function* sseEvents(answer: SseAnswer): AsyncGenerator<Buffer> {
  const { feed, signal, assertMayRead } = answer;
  const begunAtMs = performance.now();
  let { head, after, first, cursor } = answer;
  let toldAtMs = begunAtMs;
  let isTold = false;
  let hasCaughtUp = false;
  // The first one is later than the reader's, and the last one later than the others: readers see that they have advanced.
  const control = (state: ReadState, isLast = false) => {
    cursor = nextCursor(answer.logs.now(), isTold && !isLast ? undefined : cursor, Math.random());
    isTold = true;
    toldAtMs = performance.now();
    return encodeControl(state, cursor);
  };
  for (;;) {
    while (after < head.tail) {
      const pieces = first.length > 0 ? first : await piecesOf(answer, head, after);
      first = [];
      for (const piece of pieces) {
        assertMayRead();
        after = piece.at;
        if (!hasCaughtUp) answer.onReplay(piece.data.length);
        const state = readState(head, [piece]);
        yield Buffer.concat([encodeData(contentOf(head, [piece]), head.state.type), control(state)]);
        if (state.isOver) return;
      }
    }
    hasCaughtUp = true;
    if (!isTold || head.state.isClosed) yield control(readState(head, []));
    if (head.state.isClosed) return;
    const idle = performance.now();
    if (idle - begunAtMs > ANSWER_MS || signal.aborted)
      return void (yield control(readState(head, []), true));
    if (idle - toldAtMs > HEARTBEAT_MS) {
      toldAtMs = idle;
      yield Buffer.from(SSE_HEARTBEAT);
    }
    const later = await feed.waitAfter(head.at, { ms: CHECK_MS, signal });
    assertMayRead();
    if (!later) continue;
    if (later.created !== head.created || later.kind === "delete") throw notFound().error;
    head = later;
  }
}

async function piecesOf(
  { logs, feed, stream }: SseAnswer,
  head: StreamHead,
  after: StreamSeq,
): Promise<readonly StreamPiece[]> {
  const shown = feed.piecesAfter(after)?.filter(({ at }) => at <= head.tail) ?? [];
  return shown.length > 0 ? shown : await logs.read(stream, head, after, SSE_BYTES);
}

/**
 * Encodes an event with content. Line breaks of the content end lines of the event, so that no content can end the event. A reader drops a line's first blank.
 */
export function encodeData(content: Buffer, type: string): Buffer {
  const text = content.toString(isBinary(type) ? "base64" : "latin1");
  const lines = text.split(CR_OR_LF).map((line) => `data:${line.startsWith(" ") ? " " : ""}${line}\n`);
  return Buffer.from(`event: data\n${lines.join("")}\n`, "latin1");
}

/** Encodes the event after it, which says where its reader is. */
export function encodeControl({ next, isUpToDate, isOver }: ReadState, cursor: number): Buffer {
  const told = {
    streamNextOffset: next,
    ...(isOver ? { streamClosed: true } : { streamCursor: `${cursor}` }),
    ...(isUpToDate && { upToDate: true }),
  };
  return Buffer.from(`event: control\ndata:${JSON.stringify(told)}\n\n`);
}
