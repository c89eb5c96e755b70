import type { Begun } from "@reprise/log";
import { encodeCursor, type GenerationRef, LIMITS, parseGenerationId, parseWith } from "@reprise/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import { answerAudited } from "../archive/audited-answer.ts";
import { type Caller, callerOf } from "../delivered/caller.ts";
import { recordAnswer } from "../delivered/record-answer.ts";
import { recordAccess } from "../domain/audit-access.ts";
import { readEventPage } from "../domain/event-page.ts";
import { assertKept, requestedCursor, type ResumePoint, resumeFrom } from "../domain/resume.ts";
import { SseStream } from "../streaming/sse-stream.ts";
import { sendArchivedPage, sendPage, streamReplay } from "./audit-replay.ts";
import { beginStream } from "./begin-stream.ts";
import type { RouteContext } from "./context.ts";
import { flag } from "./flag.ts";
import { preferredType } from "./negotiation.ts";
import { whole } from "./whole.ts";

const querySchema = z.strictObject({
  after: z.string().optional(),
  wait: whole(0, LIMITS.pageWaitMs).prefault("0"),
  limit: whole(1, LIMITS.pageEvents).prefault(`${LIMITS.pageEvents}`),
  original: flag,
});

export function addEventRoutes(app: FastifyInstance, context: RouteContext): void {
  const config = { roles: ["read", "audit"] } as const;
  app.get<{ Params: { id: string } }>("/v1/generations/:id/events", { config }, async (request, reply) => {
    const principal = context.authentication.principalOf(request);
    const caller = callerOf(request, principal);
    const type = preferredType(request.headers.accept, ["text/event-stream", "application/json"]);
    const ref = { tenant: principal.tenant, generation: parseGenerationId(request.params.id) };
    const { after, wait, limit, original } = parseWith(querySchema, request.query, "query");
    const lastEventId = request.headers["last-event-id"]?.toString();
    const resume = requestedCursor(lastEventId, after);
    const isStream = type === "text/event-stream";
    const start = { ...resume, withRequest: original && !lastEventId && !after };
    const log = { audit: context.audit, ref, original };
    return answerAudited({
      principal,
      original,
      live: () =>
        isStream
          ? streamEvents(context, reply, { ref, resume, status: 200, caller })
          : sendLivePage(context, reply, { ref, resume, caller, wait, limit }),
      archived: () =>
        isStream
          ? streamReplay(context, reply, { log, start })
          : sendArchivedPage(reply, { log, start }, limit),
      recordAccess: () =>
        recordAccess(context.log.publish, ref, {
          ...caller,
          call: "replay",
          query: { after: encodeCursor(resume.cursor), original: `${original}` },
        }),
    });
  });
}

export interface LiveAnswer {
  readonly ref: GenerationRef;
  readonly resume: ResumePoint;
  readonly caller: Caller;
}

async function sendLivePage(
  context: RouteContext,
  reply: FastifyReply,
  { ref, resume, caller, wait, limit }: LiveAnswer & { wait: number; limit: number },
): Promise<FastifyReply> {
  const tail = await context.hub.open(ref);
  const fromSeq = await resumeFrom(context.hub, tail, resume);
  const gone = new AbortController();
  if (reply.raw.destroyed) gone.abort();
  reply.raw.on("close", () => gone.abort());
  const signal = AbortSignal.any([context.draining, gone.signal]);
  const leave = context.presence.enter(tail, () => fromSeq - 1);
  const { json, lastSeq } = await readEventPage({
    hub: context.hub,
    tail,
    fromSeq,
    limit,
    waitMs: wait,
    signal,
  }).finally(leave);
  recordAnswer(context, reply, { ref, protocol: "page", caller, fromSeq, lastSeq, tail });
  return sendPage(reply, json);
}

/** Answers with the stream itself, from behind the cursor; with 204 when the reader has seen the end already. */
export async function streamEvents(
  context: RouteContext,
  reply: FastifyReply,
  { ref, resume, status, caller, begun }: LiveAnswer & { status: number; begun?: Begun | undefined },
): Promise<FastifyReply> {
  const { hub, readers, presence, delivered, logger } = context;
  const tail = await hub.open(ref, begun);
  const nextSeq = await resumeFrom(hub, tail, resume);
  await assertKept(hub, tail, nextSeq);
  if (tail.isOver && nextSeq > tail.lastSeq) return reply.code(204).send();
  const socket = beginStream(reply, { status, draining: context.draining });
  if (!socket) return reply;
  const stream = new SseStream({
    hub,
    tail,
    socket,
    nextSeq,
    counts: readers,
    onError: (error) =>
      logger.warn(
        { generation: ref.generation, code: error.code, err: error.cause },
        "a stream was broken off",
      ),
    onClose(closed) {
      readers.remove(closed);
      leave();
      depart();
    },
  });
  const leave = presence.enter(tail, () => stream.takenSeq);
  const depart = delivered.enter({
    ref,
    protocol: "sse",
    caller,
    fromSeq: nextSeq,
    position: stream,
    tail,
  });
  readers.add(stream);
  stream.start();
  return reply;
}
