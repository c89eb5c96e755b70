import {
  encodeSseRetry,
  type GenerationRef,
  LIMITS,
  parseGenerationId,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import { type Caller, callerOf } from "../delivered/caller.ts";
import { recordAnswer } from "../delivered/record-answer.ts";
import { readEventPage } from "../domain/event-page.ts";
import { assertKept, requestedCursor, type ResumePoint, resumeFrom } from "../domain/resume.ts";
import { openSseSocket } from "../streaming/sse-socket.ts";
import { SseStream } from "../streaming/sse-stream.ts";
import type { RouteContext } from "./context.ts";
import { preferredType } from "./negotiation.ts";
import { whole } from "./whole.ts";

/** Clients add jitter to it; a node that drains tells each reader a time of its own. */
const RECONNECT_MS = 250;

const querySchema = z.strictObject({
  after: z.string().optional(),
  wait: whole(0, LIMITS.pageWaitMs).prefault("0"),
  limit: whole(1, LIMITS.pageEvents).prefault(`${LIMITS.pageEvents}`),
});

export function addEventRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get<{ Params: { id: string } }>("/v1/generations/:id/events", async (request, reply) => {
    const principal = context.authenticate(request, "read");
    const caller = callerOf(request, principal);
    const type = preferredType(request.headers.accept, ["text/event-stream", "application/json"]);
    const ref = { tenant: principal.tenant, generation: parseGenerationId(request.params.id) };
    const { after, wait, limit } = parseWith(querySchema, request.query, "query");
    const resume = requestedCursor(request.headers["last-event-id"]?.toString(), after);
    if (type === "text/event-stream") return streamEvents(context, reply, { ref, resume, status: 200, caller });

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
    return reply.header("cache-control", "no-store").type("application/json; charset=utf-8").send(json);
  });
}

export interface StreamedAnswer {
  readonly ref: GenerationRef;
  readonly resume: ResumePoint;
  readonly status: number;
  readonly caller: Caller;
}

/** Answers with the stream itself, from behind the cursor; with 204 when the reader has seen the end already. */
export async function streamEvents(
  context: RouteContext,
  reply: FastifyReply,
  { ref, resume, status, caller }: StreamedAnswer,
): Promise<FastifyReply> {
  const { hub, readers, presence, delivered, logger } = context;
  const tail = await hub.open(ref);
  const nextSeq = await resumeFrom(hub, tail, resume);
  await assertKept(hub, tail, nextSeq);
  if (tail.isOver && nextSeq > tail.lastSeq) return reply.code(204).send();
  if (context.draining.aborted) throw drainingError();

  void reply.hijack();
  // Its client left while the log was read; no event will say so again.
  if (reply.raw.destroyed) return reply;
  const socket = openSseSocket(reply.raw, status, plainHeaders(reply));
  socket.writeText(encodeSseRetry(RECONNECT_MS));
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

export function drainingError(): RepriseError {
  return new RepriseError("draining", "This node is shutting down; try again.", { retryAfterMs: 1_000 });
}

function plainHeaders(reply: FastifyReply): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) headers[name] = String(value);
  return headers;
}
