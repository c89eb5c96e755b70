import { Readable } from "node:stream";
import { type GenerationRef, LIMITS, parseCursor, plus, type Seq, START, unixNow } from "@reprise/protocol";
import type { GenerationCache, Hub } from "@reprise/stream";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";
import { type EventsRead, readEvents } from "../../domain/event-page.ts";
import { resumeFrom } from "../../domain/resume-cursor.ts";
import { hasLeft } from "../../connections/http2.ts";
import type { Authentication } from "../../http/auth.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import { drainingError } from "../../readers/begin-stream.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { ConnectionRecord } from "../../readers/delivery-marks/connection-record.ts";
import { recordFullResponse } from "../../readers/delivery-marks/record-full-response.ts";
import { presentReader } from "../../readers/presence/present-reader.ts";
import type { ReaderRegistry } from "../../readers/reader-registry.ts";
import { jsonArray, nextCursor, type ReadState, readHeaders } from "./stream-answers.ts";
import { eventHeaders, sseEvents, type Window } from "./sse-answer.ts";
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
 * Answers with a generation's events. The reader counts as present meanwhile, and what it takes is recorded.
 * @throws RepriseError as `resumeFrom` and `readEvents`; `draining`; `unauthenticated` when the caller may not read any more
 */
export async function readGenerationStream(
  ports: GenerationStreamPorts,
  reply: FastifyReply,
  { ref, principal, query, signal }: GenerationRead,
): Promise<FastifyReply> {
  const { hub, limits, readers, authentication } = ports;
  const { raw, request } = reply;
  const cache = await hub.open(ref);
  let fromSeq = await firstOf(hub, cache, query.offset);
  const caller = callerOf(request, principal);
  const isStream = query.live === "sse";
  const refused = new AbortController();
  const wait = AbortSignal.any([signal, refused.signal]);
  const onReplay = (bytes: number) => limits.replayed(request, principal, () => bytes);
  const position = { sentSeq: plus(fromSeq, -1), takenSeq: plus(fromSeq, -1) };
  const record = isStream && new ConnectionRecord({ protocol: "sse", caller, fromSeq, position, cache });
  const leave = readers.enter({
    ref,
    waiting: {
      principal: authentication.renewReader(principal, "read"),
      role: "read",
      fail: (error) => refused.abort(error),
    },
    presence: presentReader(cache, position),
    ...(record && { record }),
  });
  if (hasLeft(raw)) leave();
  else raw.once("close", leave);
  const read = async (waitMs: number) => {
    const events = await readEvents({ hub, cache, fromSeq, limit: LIMITS.pageEvents, waitMs, signal: wait });
    refused.signal.throwIfAborted();
    return events;
  };
  if (isStream) {
    const next = async (waitMs: number): Promise<Window> => {
      position.takenSeq = position.sentSeq;
      const events = await read(waitMs);
      position.sentSeq = events.lastSeq;
      fromSeq = plus(events.lastSeq, 1);
      const content = events.payloads.length > 0 ? jsonArray(events.payloads) : undefined;
      return { content, state: stateOf(cache, events) };
    };
    void reply.headers(eventHeaders(GENERATION_TYPE));
    const answer = { type: GENERATION_TYPE, next, cursor: query.cursor, signal, onReplay };
    return reply.send(Readable.from(sseEvents(answer), { objectMode: false }));
  }
  const wasThere = fromSeq <= cache.shownSeq;
  const events = await read(query.live === "long-poll" ? LIMITS.pageWaitMs : 0);
  const { payloads, lastSeq } = events;
  if (ports.draining.aborted && payloads.length === 0) throw drainingError();
  authentication.renewReader(principal, "read");
  void reply.headers({ ...readHeaders(stateOf(cache, events)), "content-type": GENERATION_TYPE });
  if (query.live === "long-poll") {
    void reply.header("stream-cursor", `${nextCursor(unixNow(), query.cursor, Math.random())}`);
    if (payloads.length === 0) return reply.code(204).send();
  }
  const content = Buffer.concat(jsonArray(payloads));
  if (wasThere) onReplay(content.length);
  recordFullResponse({ readers }, reply, { ref, protocol: "page", caller, fromSeq, lastSeq, cache });
  return reply.send(content);
}

/** @throws RepriseError as `parseCursor` and `resumeFrom` */
async function firstOf(hub: Hub, cache: GenerationCache, offset: string): Promise<Seq> {
  if (offset === NOW) return plus(cache.shownSeq, 1);
  const cursor = offset === BEGINNING ? START : parseCursor(offset, "offset");
  return resumeFrom(hub, cache, { cursor, param: "offset" });
}

function isOver(cache: GenerationCache): boolean {
  return cache.isOver && cache.shownSeq >= cache.lastSeq;
}

function stateOf(cache: GenerationCache, { cursor, lastSeq, ended }: EventsRead): ReadState {
  return { next: cursor, isUpToDate: lastSeq >= cache.shownSeq, isOver: ended };
}
