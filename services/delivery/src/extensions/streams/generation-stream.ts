import { Readable } from "node:stream";
import {
  type GenerationRef,
  LIMITS,
  parseCursor,
  plus,
  type Seq,
  SSE_HEARTBEAT,
  START,
  unixNow,
} from "@reprise/protocol";
import type { GenerationCache, Hub } from "@reprise/stream";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";
import { type EventsRead, readEvents } from "../../domain/event-page.ts";
import { resumeFrom } from "../../domain/resume-cursor.ts";
import type { Authentication } from "../../http/auth.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import { drainingError } from "../../readers/begin-stream.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { ConnectionRecord } from "../../readers/delivery-marks/connection-record.ts";
import { recordFullResponse } from "../../readers/delivery-marks/record-full-response.ts";
import { presentReader } from "../../readers/presence/present-reader.ts";
import type { ReaderRegistry } from "../../readers/reader-registry.ts";
import { jsonArray, nextCursor, type ReadState, readHeaders } from "./stream-answers.ts";
import { ANSWER_MS, CHECK_MS, encodeControl, encodeData, EVENT_HEADERS, HEARTBEAT_MS } from "./sse-answer.ts";
import { BEGINNING, NOW, type StreamQuery } from "./stream-request.ts";

/*
 * A generation's log, read as a stream in JSON mode: each event as readers see it is a message, and its cursor is the offset after it.
 */

export interface GenerationStreamPorts {
  readonly authentication: Pick<Authentication, "renewReader">;
  readonly hub: Hub;
  readonly limits: Pick<RequestLimits, "replayed">;
  readonly readers: ReaderRegistry;
  /** Aborted when the node takes no more requests. */
  readonly draining: AbortSignal;
}

export interface GenerationRead {
  readonly ref: GenerationRef;
  readonly principal: Principal;
  readonly query: StreamQuery;
  /** Aborted when the client leaves or the node drains. */
  readonly signal: AbortSignal;
}

/** The type of its content. */
export const GENERATION_TYPE = "application/json";

/** The end of a generation's log, as readers see it. @throws RepriseError as `Hub.open` */
export async function inspectGeneration(hub: Hub, ref: GenerationRef): Promise<Record<string, string>> {
  const cache = await hub.open(ref);
  const next = cache.events.cursorAt(cache.shownSeq);
  const { "stream-up-to-date": _, ...headers } = readHeaders({
    next,
    isUpToDate: true,
    isOver: isOver(cache),
  });
  return headers;
}

/**
 * Answers with a generation's events.
 * @throws RepriseError as `resumeFrom` and `readEvents`; `draining`; `unauthenticated` when the caller may not read any more
 */
export async function readGenerationStream(
  ports: GenerationStreamPorts,
  reply: FastifyReply,
  { ref, principal, query, signal }: GenerationRead,
): Promise<FastifyReply> {
  const { hub, limits, readers, authentication } = ports;
  const cache = await hub.open(ref);
  const fromSeq = await firstOf(hub, cache, query.offset);
  const caller = callerOf(reply.request, principal);
  if (query.live === "sse") {
    void reply.headers(EVENT_HEADERS);
    const onReplay = (bytes: number) => limits.replayed(reply.request, principal, () => bytes);
    const reading = { ...ports, ref, principal, query, signal, cache, fromSeq, caller, onReplay };
    return reply.send(Readable.from(generationEvents(reading), { objectMode: false }));
  }
  const refused = new AbortController();
  const wait = AbortSignal.any([signal, refused.signal]);
  const reader = authentication.renewReader(principal, "read");
  const leave = readers.enter({
    ref,
    waiting: { principal: reader, role: "read", fail: (error) => refused.abort(error) },
    presence: presentReader(cache, { takenSeq: plus(fromSeq, -1) }),
  });
  const waitMs = query.live === "long-poll" ? LIMITS.pageWaitMs : 0;
  const wasThere = fromSeq <= cache.shownSeq;
  const read = await readEvents({ ...window(hub, cache, fromSeq), waitMs, signal: wait }).finally(leave);
  refused.signal.throwIfAborted();
  if (ports.draining.aborted && read.payloads.length === 0) throw drainingError();
  authentication.renewReader(principal, "read");
  const { payloads, lastSeq } = read;
  void reply.headers({ ...readHeaders(stateOf(cache, read)), "content-type": GENERATION_TYPE });
  if (query.live === "long-poll") {
    void reply.header("stream-cursor", `${nextCursor(unixNow(), query.cursor, Math.random())}`);
    if (payloads.length === 0) return reply.code(204).send();
  }
  const content = jsonArray(payloads);
  if (wasThere) limits.replayed(reply.request, principal, () => content.length);
  recordFullResponse({ readers }, reply, { ref, protocol: "page", caller, fromSeq, lastSeq, cache });
  return reply.send(content);
}

/** @throws RepriseError as `parseCursor` and `resumeFrom` */
async function firstOf(hub: Hub, cache: GenerationCache, offset: string): Promise<Seq> {
  if (offset === NOW) return plus(cache.shownSeq, 1);
  const cursor = offset === BEGINNING ? START : parseCursor(offset, "offset");
  return resumeFrom(hub, cache, { cursor, param: "offset" });
}

const window = (hub: Hub, cache: GenerationCache, fromSeq: Seq) => ({
  hub,
  cache,
  fromSeq,
  limit: LIMITS.pageEvents,
});

function isOver(cache: GenerationCache): boolean {
  return cache.isOver && cache.shownSeq >= cache.lastSeq;
}

function stateOf(cache: GenerationCache, { cursor, lastSeq, ended }: EventsRead): ReadState {
  return { next: cursor, isUpToDate: lastSeq >= cache.shownSeq, isOver: ended };
}

interface Reading extends GenerationRead, GenerationStreamPorts {
  readonly cache: GenerationCache;
  readonly fromSeq: Seq;
  readonly caller: ReturnType<typeof callerOf>;
  /** Called with the bytes of what was there before the reader had caught up. */
  readonly onReplay: (bytes: number) => void;
}

/** Events of a generation, as `sseEvents` has those of a stream. Its reader counts as present, and what it takes is recorded. */
async function* generationEvents(reading: Reading): AsyncGenerator<Buffer> {
  const { cache, hub, query, signal, caller, ref, principal, readers, authentication, onReplay } = reading;
  const begunAtMs = performance.now();
  let { fromSeq } = reading;
  let toldAtMs = begunAtMs;
  let cursor = query.cursor;
  let isTold = false;
  let hasCaughtUp = false;
  const position = { sentSeq: plus(fromSeq, -1), takenSeq: plus(fromSeq, -1) };
  const refused = new AbortController();
  const wait = AbortSignal.any([signal, refused.signal]);
  const leave = readers.enter({
    ref,
    waiting: {
      principal: authentication.renewReader(principal, "read"),
      role: "read",
      fail: (error) => refused.abort(error),
    },
    presence: presentReader(cache, position),
    record: new ConnectionRecord({ protocol: "sse", caller, fromSeq, position, cache }),
  });
  try {
    for (;;) {
      const waitMs = isTold ? CHECK_MS : 0;
      const read = await readEvents({ ...window(hub, cache, fromSeq), waitMs, signal: wait });
      refused.signal.throwIfAborted();
      const state = stateOf(cache, read);
      if (!hasCaughtUp) onReplay(read.payloads.reduce((bytes, { length }) => bytes + length, 0));
      hasCaughtUp ||= state.isUpToDate;
      const nowMs = performance.now();
      const isLast = nowMs - begunAtMs > ANSWER_MS || signal.aborted;
      if (read.payloads.length > 0 || !isTold || isLast || state.isOver) {
        cursor = nextCursor(unixNow(), isTold && !isLast ? undefined : cursor, Math.random());
        isTold = true;
        toldAtMs = nowMs;
        const control = encodeControl(state, cursor);
        position.sentSeq = read.lastSeq;
        yield read.payloads.length === 0
          ? control
          : Buffer.concat([encodeData(jsonArray(read.payloads), GENERATION_TYPE), control]);
        position.takenSeq = read.lastSeq;
        fromSeq = plus(read.lastSeq, 1);
        if (isLast || state.isOver) return;
      } else if (nowMs - toldAtMs > HEARTBEAT_MS) {
        toldAtMs = nowMs;
        yield Buffer.from(SSE_HEARTBEAT);
      }
    }
  } finally {
    leave();
  }
}
