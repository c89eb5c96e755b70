import { setImmediate as othersTurn } from "node:timers/promises";
import { SSE_HEADERS, SSE_HEARTBEAT, unixNow } from "@reprise/protocol";
import { mediaTypeOf } from "./next-record.ts";
import { nextCursor, type ReadState } from "./stream-answers.ts";
import { isJson } from "./stream-request.ts";

/** The next part of an answer. */
export interface Window {
  /** In parts, of binary content one; undefined if there is none yet, or no more. */
  readonly content?: readonly Uint8Array[] | undefined;
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
    ...SSE_HEADERS,
    // Its clients compare it as it is.
    "content-type": "text/event-stream",
    ...(isBinary(type) && { "stream-sse-data-encoding": "base64" }),
  };
}

/** An answer ends after this time, so that caches in between can share it; its reader comes back. */
const ANSWER_MS = 60_000;
const HEARTBEAT_MS = 15_000;
/** Milliseconds between two checks of a reader that waits. */
const CHECK_MS = 1_000;
/** Bytes of content that are encoded at a time, base64 without padding: for a client that reads nothing no more than two of these wait. */
const SLICE_BYTES = 3 * 4_096;
const CR = 0x0d;
const LF = 0x0a;
const BLANK = 0x20;
const DATA = Buffer.from("event: data\ndata:");
const LINE = Buffer.from("\ndata:");
const END = Buffer.from("\n\n");

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
    if (content && !hasCaughtUp) onReplay(content.reduce((bytes, { length }) => bytes + length, 0));
    hasCaughtUp ||= state.isUpToDate;
    const nowMs = performance.now();
    const isLast = nowMs > endMs || signal.aborted || state.isOver;
    if (content || toldAtMs === undefined || isLast) {
      // The first one is later than the reader's, and the last one later than the others: readers see that they have advanced.
      const isOther = toldAtMs === undefined || isLast;
      last = nextCursor(unixNow(), isOther ? last : undefined, Math.random());
      toldAtMs = nowMs;
      const control = encodeControl(state, last);
      if (content) yield* encodeData(content, type, control);
      else yield control;
      if (isLast) return;
    } else if (nowMs - toldAtMs > HEARTBEAT_MS) {
      toldAtMs = nowMs;
      yield Buffer.from(SSE_HEARTBEAT);
    }
  }
}

/** Encodes an event with content, and the one after it. Between its slices others have their turn: many readers of a long one would hold them up for seconds. */
async function* encodeData(
  content: readonly Uint8Array[],
  type: string,
  control: Buffer,
): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [DATA];
  let bytes = 0;
  for (const part of isBinary(type) ? encodeBase64(content) : encodeLines(content)) {
    held.push(part);
    bytes += part.length;
    if (bytes < SLICE_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
    await othersTurn();
  }
  yield Buffer.concat([...held, END, control]);
}

function* encodeBase64(content: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const slice of slicesOf(content)) yield Buffer.from(slice.toString("base64"), "latin1");
}

/**
 * Line breaks of the content end lines of the event, so that no content can end the event. Byte by byte: of a body of line breaks alone,
 * strings would take this process a second for each reader.
 */
function* encodeLines(content: readonly Uint8Array[]): Generator<Uint8Array> {
  let before = LF;
  for (const slice of slicesOf(content)) {
    const lines = Buffer.allocUnsafe(slice.length * LINE.length + 1);
    let length = 0;
    for (let i = 0; i < slice.length; i++) {
      const byte = slice[i]!;
      if (byte !== CR && byte !== LF) {
        // A reader drops a line's first blank.
        if (byte === BLANK && (before === CR || before === LF)) lines[length++] = BLANK;
        lines[length++] = byte;
      } else if (byte === CR || before !== CR)
        for (let j = 0; j < LINE.length; j++) lines[length++] = LINE[j]!;
      before = byte;
    }
    yield lines.subarray(0, length);
  }
}

function* slicesOf(content: readonly Uint8Array[]): Generator<Buffer> {
  for (const { buffer, byteOffset, length } of content)
    for (let at = 0; at < length; at += SLICE_BYTES)
      yield Buffer.from(buffer, byteOffset + at, Math.min(SLICE_BYTES, length - at));
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
