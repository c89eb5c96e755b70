import { SSE_HEARTBEAT, unixNow } from "@reprise/protocol";
import { mediaTypeOf } from "./next-record.ts";
import { nextCursor, type ReadState } from "./stream-answers.ts";
import { isJson } from "./stream-request.ts";

/** What a reader is sent next. */
export interface Window {
  /** Undefined if there is none yet, or no more. */
  readonly content?: Buffer | undefined;
  readonly state: ReadState;
}

export interface SseAnswer {
  /** Type of the content. */
  readonly type: string;
  /**
   * Reads what follows, after what was read before is taken; waits so long for it.
   * @throws RepriseError when there is no more to read, or the caller may not read it: the answer breaks
   */
  readonly next: (waitMs: number) => Promise<Window>;
  /** The reader's own. */
  readonly cursor: number | undefined;
  /** Aborted when the client leaves or the node drains. */
  readonly signal: AbortSignal;
  /** Called with the bytes of what was there before the reader had caught up. */
  readonly onReplay: (bytes: number) => void;
}

/** Headers of an answer with events. */
export function eventHeaders(type: string): Record<string, string> {
  return {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    ...(isBinary(type) && { "stream-sse-data-encoding": "base64" }),
  };
}

/** An answer ends after this time, so that caches in between can share it; its reader comes back. */
const ANSWER_MS = 60_000;
const HEARTBEAT_MS = 15_000;
/** How often a reader that waits is looked after. */
const CHECK_MS = 1_000;
const CR_OR_LF = /\r\n|\r|\n/;

/** True for content that events carry as base64: all but text and JSON. */
function isBinary(type: string): boolean {
  return !isJson(type) && !mediaTypeOf(type).startsWith("text/");
}

/**
 * The events of an answer: each `data`, and a `control` after it. They are read as the client takes them. Their end in order says that the reader has to come back,
 * or that the stream is closed.
 */
export async function* sseEvents({
  type,
  next,
  cursor,
  signal,
  onReplay,
}: SseAnswer): AsyncGenerator<Buffer> {
  const endMs = performance.now() + ANSWER_MS;
  let toldAtMs: number | undefined;
  let last = cursor;
  for (let hasCaughtUp = false; ;) {
    const { content, state } = await next(toldAtMs === undefined ? 0 : CHECK_MS);
    if (content && !hasCaughtUp) onReplay(content.length);
    hasCaughtUp ||= state.isUpToDate;
    const nowMs = performance.now();
    const isLast = nowMs > endMs || signal.aborted || state.isOver;
    if (content || toldAtMs === undefined || isLast) {
      // The first one is later than the reader's, and the last one later than the others: readers see that they have advanced.
      const isOther = toldAtMs === undefined || isLast;
      last = nextCursor(unixNow(), isOther ? last : undefined, Math.random());
      toldAtMs = nowMs;
      const control = encodeControl(state, last);
      yield content ? Buffer.concat([encodeData(content, type), control]) : control;
      if (isLast) return;
    } else if (nowMs - toldAtMs > HEARTBEAT_MS) {
      toldAtMs = nowMs;
      yield Buffer.from(SSE_HEARTBEAT);
    }
  }
}

/**
 * Encodes an event with content. Line breaks of the content end lines of the event, so that no content can end the event. A reader drops a line's first blank.
 */
function encodeData(content: Buffer, type: string): Buffer {
  const text = content.toString(isBinary(type) ? "base64" : "latin1");
  const lines = text.split(CR_OR_LF).map((line) => `data:${line.startsWith(" ") ? " " : ""}${line}\n`);
  return Buffer.from(`event: data\n${lines.join("")}\n`, "latin1");
}

/** Encodes the event after it, which says where its reader is. */
function encodeControl({ next, isUpToDate, isOver }: ReadState, cursor: number): Buffer {
  const told = {
    streamNextOffset: next,
    ...(isOver ? { streamClosed: true } : { streamCursor: `${cursor}` }),
    ...(isUpToDate && { upToDate: true }),
  };
  return Buffer.from(`event: control\ndata:${JSON.stringify(told)}\n\n`);
}
