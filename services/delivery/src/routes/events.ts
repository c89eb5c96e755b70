import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { ReaderRegistry } from "../readers/reader-registry.ts";
import type { NewLog, GenerationLog, Hub } from "@reprise/stream";
import type { AuditClient } from "@reprise/broker";
import { encodeCursor, FIRST_SEQ, type GenerationRef, LIMITS, parseWith, plus } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import type { ReadingRole, Authentication } from "../http/auth.ts";
import { hasLeft } from "../connections/http2.ts";
import { withArchiveFallback } from "../archive-fallback/with-archive-fallback.ts";
import { type Caller, callerOf } from "../readers/delivery-marks/caller.ts";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";
import { replayBytes, shownFrames } from "../limits/replay-bytes.ts";
import { recordAccess } from "../domain/audit-access.ts";
import { accessGeneration } from "../domain/generation-access.ts";
import { readEventPage } from "../domain/event-page.ts";
import { assertKept, requestedCursor, type ResumePoint, resumeFrom } from "../domain/resume-cursor.ts";
import { presentReader } from "../readers/presence/present-reader.ts";
import { LiveStream } from "../readers/streams/live-stream.ts";
import { sendArchivedPage, sendPage, streamReplay, type ReplayPorts } from "./audit-replay.ts";
import type { StreamCall, ReaderMetrics } from "../telemetry/reader-metrics.ts";
import { beginReading, type ReadingPorts } from "../readers/begin-reading.ts";
import { preferredType } from "../http/negotiation.ts";
import { booleanParam, integerParam } from "../http/query-params.ts";

export interface EventPorts extends ReadingPorts, ReplayPorts {
  readonly authentication: Authentication;
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly audit: AuditClient;
  readonly readers: ReaderRegistry;
  readonly limits: RequestLimits;
  readonly notes: RequestNotes;
  readonly readerMetrics: ReaderMetrics;
  readonly draining: AbortSignal;
}

export const eventsQuerySchema = z.strictObject({
  after: z.string().optional(),
  wait: integerParam(0, LIMITS.pageWaitMs).prefault("0"),
  limit: integerParam(1, LIMITS.pageEvents).prefault(`${LIMITS.pageEvents}`),
  original: booleanParam,
});

export function addEventRoutes(app: FastifyInstance, context: EventPorts): void {
  const config = { roles: ["read", "audit"], streamTokens: true, countsItself: true } as const;
  app.get<{ Params: { id: string } }>("/v1/generations/:id/events", { config }, async (request, reply) => {
    const principal = context.authentication.principalOf(request);
    const caller = callerOf(request, principal);
    const type = preferredType(request.headers.accept, ["text/event-stream", "application/json"]);
    const ref = await accessGeneration(context.log, principal, request.params.id);
    context.notes.add(request, { generation: ref.generation });
    const { after, wait, limit, original } = parseWith(eventsQuerySchema, request.query, "query");
    const lastEventId = request.headers["last-event-id"]?.toString();
    const resume = requestedCursor(lastEventId, after);
    const isStream = type === "text/event-stream";
    await context.limits.attach([request, reply], principal, { isStream, waits: wait > 0 });
    const onReplay = (bytesOf: () => number) => context.limits.replayed(request, principal, bytesOf);
    const start = { ...resume, withRequest: original && !lastEventId && !after };
    const log = { audit: context.audit, ref, original };
    const answer = withArchiveFallback({
      principal,
      original,
      live(role) {
        const read = { ref, resume, caller, principal, role, onReplay };
        return isStream
          ? streamEvents(context, reply, { ...read, status: 200, call: "read" })
          : sendLivePage(context, reply, { ...read, wait, limit });
      },
      archived: () =>
        isStream
          ? streamReplay(context, reply, { log, start, principal })
          : sendArchivedPage(context, reply, { log, start, principal, limit }),
      recordAccess: () =>
        recordAccess(context.log.publish, ref, {
          ...caller,
          call: "replay",
          query: { after: encodeCursor(resume.cursor), original: `${original}` },
        }),
    });
    return isStream ? context.readerMetrics.countGone(resume.cursor, answer) : answer;
  });
}

export interface LiveRead {
  readonly ref: GenerationRef;
  readonly resume: ResumePoint;
  readonly caller: Caller;
  /** Called with how to tell the bytes of events that were there before the reader came. */
  readonly onReplay: (bytesOf: () => number) => void;
  readonly principal: Principal;
  readonly role: ReadingRole;
}

async function sendLivePage(
  context: EventPorts,
  reply: FastifyReply,
  { ref, resume, caller, principal, role, wait, limit, onReplay }: LiveRead & { wait: number; limit: number },
): Promise<FastifyReply> {
  const cache = await context.hub.open(ref);
  const fromSeq = await resumeFrom(context.hub, cache, resume);
  const wasThere = fromSeq <= cache.shownSeq;
  const gone = new AbortController();
  if (hasLeft(reply.raw)) gone.abort();
  reply.raw.on("close", () => gone.abort());
  const refused = new AbortController();
  const signal = AbortSignal.any([context.draining, gone.signal, refused.signal]);
  // From here on to its registration nothing else runs: later changes are told to the registry.
  const reader = context.authentication.renewReader(principal, role);
  const leave = context.readers.enter({
    ref,
    waiting: { principal: reader, role, fail: (error) => refused.abort(error) },
    presence: presentReader(cache, { takenSeq: plus(fromSeq, -1) }),
  });
  const { json, lastSeq } = await readEventPage({
    hub: context.hub,
    cache,
    fromSeq,
    limit,
    waitMs: wait,
    signal,
  }).finally(leave);
  // It may have waited for long, and a key may expire between two sweeps of the registry.
  refused.signal.throwIfAborted();
  context.authentication.renewReader(principal, role);
  if (wasThere) onReplay(() => Buffer.byteLength(json));
  recordFullResponse(context, reply, { ref, protocol: "page", caller, fromSeq, lastSeq, cache });
  return sendPage(reply, json);
}

/** Answers with the stream itself, from the event after the cursor; with 204 if the reader has already seen the end. */
export async function streamEvents(
  context: EventPorts,
  reply: FastifyReply,
  {
    ref,
    resume,
    status,
    caller,
    principal,
    role,
    onReplay,
    call,
    begun,
  }: LiveRead & { status: number; call: StreamCall; begun?: NewLog | undefined },
): Promise<FastifyReply> {
  const { hub, readerMetrics } = context;
  const cache = await hub.open(ref, begun);
  const fromSeq = await resumeFrom(hub, cache, resume);
  await assertKept(hub, cache, fromSeq);
  if (cache.isOver && fromSeq > cache.lastSeq) {
    readerMetrics.resumed(resume.cursor, "ended");
    return reply.code(204).send();
  }
  onReplay(() => replayBytes(shownFrames(cache), fromSeq));
  return beginReading(context, reply, {
    cache,
    fromSeq,
    resumed: fromSeq > FIRST_SEQ,
    status,
    protocol: "sse",
    caller,
    principal,
    role,
    call,
    created: begun !== undefined,
    open: (options) => new LiveStream(options),
  });
}
