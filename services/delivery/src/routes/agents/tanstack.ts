import type { RequestNotes } from "../../telemetry/request-notes.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { CreateGeneration } from "../../create/create-generation.ts";
import { GENERATION_ID_HEADER } from "../../http/header-names.ts";
import {
  endAgain,
  parseOffset,
  parseTanstackRequest,
  tanstackProjection,
  type ParsedRun,
  type TanstackState,
} from "@reprise/projections";
import { parseWith, RepriseError } from "@reprise/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { lacksRole, type Authentication } from "../../http/auth.ts";
import { headerOf } from "../../http/header-of.ts";
import { preferredType } from "../../http/negotiation.ts";
import { readFrames, type FramesPorts } from "../../projected/read-frames.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { addStopRoute, type StopPorts } from "../stop-route.ts";
import { beginThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";
import { assertNamedOnce, onlyModel, parseOptions, type ParsePorts } from "./parse-options.ts";
import { activeRunId, findRun, needsRun, type Run, runKey, type RunPorts } from "./runs.ts";
import { type RunRead, streamRun, type AgentStreamPorts } from "./stream-run.ts";

export type TanstackPorts = AgentStreamPorts &
  FramesPorts &
  ParsePorts &
  RunPorts &
  StopPorts &
  ThreadPorts & {
    readonly authentication: Authentication;
    readonly create: CreateGeneration;
    readonly modelNames: () => ReadonlySet<string>;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
    readonly notes: RequestNotes;
  };

const PATH = "/v1/tanstack/chat";
const protocol = "tanstack";

/** The paths of TanStack AI's clients, and their methods. */
export const TANSTACK_PATHS = { [PATH]: ["GET", "POST"], [`${PATH}/:id/stop`]: ["POST"] } as const;

/** Whatever else the app's URL has is part of every call of the client. */
const named = { model: z.string().optional() };
const postQuery = z.strictObject(named);
const getQuery = z.strictObject({
  ...named,
  runId: z.string().min(1).optional(),
  offset: z.string().optional(),
  threadId: z.string().min(1).optional(),
  limit: z.string().optional(),
  before: z.string().optional(),
});

/**
 * Adds the routes that `fetchServerSentEvents` of TanStack AI calls, at one URL. `POST` begins a run, or resumes one after `Last-Event-ID`. `GET` reads a run
 * from its beginning (`?runId=`), or returns the active run of a thread (`?threadId=`). A run is identified by the name that the client gave it.
 */
export function addTanstackRoutes(app: FastifyInstance, context: TanstackPorts): void {
  const { authentication, bodies, limits } = context;

  const create = { roles: ["create"], streamTokens: true, countsItself: true } as const;
  app.post(PATH, { config: create }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    if (!principal.roles.has("read")) throw lacksRole("read");
    const query = parseWith(postQuery, request.query, "query");
    const lastEventId = headerOf(request, "last-event-id") || undefined;
    const model = query.model ?? onlyModel(context, principal);
    const parsed = parseTanstackRequest(request.body, parseOptions(context, model));
    assertNamedOnce(request, parsed.runId);
    if (lastEventId !== undefined) return await resume([request, reply], parsed, lastEventId);
    const { threadId, runId } = parsed;
    using started = await context.create({
      principal,
      call: [request, reply],
      request: parsed.request,
      idempotencyKey: runKey(protocol, runId),
      isStream: true,
    });
    const { ref, requested, begun } = started;
    await beginThreadRun(context, principal, { protocol, id: threadId, ref, requested });
    return await streamRun(context, [request, reply], started, {
      ...readOf(started),
      from: 0,
      call: "create",
      begun,
    });
  });

  /** A client that has lost its connection has sent its request again. It is not compared with the first one: the run is there. */
  async function resume(
    [request, reply]: readonly [FastifyRequest, FastifyReply],
    { runId }: ParsedRun,
    lastEventId: string,
  ): Promise<FastifyReply> {
    request.body = undefined;
    bodies.release(request.raw);
    const param = "Last-Event-ID";
    const from = parseOffset(lastEventId, param);
    const principal = authentication.principalOf(request);
    await limits.attach([request, reply], principal, { isStream: true, waits: false });
    const run = needsRun(await findRun(context, principal, { protocol, runId }), "runId");
    return streamRun(context, [request, reply], run, { ...readOf(run), from, param, call: "read" });
  }

  const read = { roles: ["read"], streamTokens: true, countsItself: true } as const;
  app.get(PATH, { config: read }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { runId, offset = "-1", threadId } = parseWith(getQuery, request.query, "query");
    if ((runId === undefined) === (threadId === undefined)) throw needsOneName();
    const lastEventId = headerOf(request, "last-event-id") || undefined;
    const param = lastEventId === undefined ? "offset" : "Last-Event-ID";
    const from = parseOffset(lastEventId ?? offset, param);
    const isPage = preferredType(request.headers.accept, FORMS) === "application/json";
    const isStream = runId !== undefined && !isPage;
    await limits.attach([request, reply], principal, { isStream, waits: false });
    if (threadId !== undefined) {
      const active = await activeRunId(context, principal, { protocol, id: threadId });
      return { messages: [], activeRun: active === undefined ? null : { runId: active }, interrupts: null };
    }
    // One of the two is there.
    const run = needsRun(await findRun(context, principal, { protocol, runId: runId! }), "runId");
    if (isPage) return sendPage([request, reply], run, from);
    return streamRun(context, [request, reply], run, { ...readOf(run), from, param, call: "read" });
  });

  /** Chunks from a number on, as far as there are any now. */
  async function sendPage(
    [request, reply]: readonly [FastifyRequest, FastifyReply],
    run: Run,
    from: number,
  ): Promise<FastifyReply> {
    const principal = authentication.principalOf(request);
    const { ref } = run;
    context.notes.add(request, { generation: ref.generation });
    void reply.header(GENERATION_ID_HEADER, ref.generation);
    const frames = await readFrames(context, reply, {
      ref,
      protocol,
      projection: readOf(run).projection,
      from,
      caller: callerOf(request, principal),
      principal,
      role: "read",
      onReplay: (bytesOf) => limits.replayed(request, principal, bytesOf),
    });
    const chunks = frames.map((data, i) => `{"id":"${from + i}","chunk":${data}}`);
    return reply.type("application/json").send(`{"chunks":[${chunks.join()}]}`);
  }

  addStopRoute(app, context, { protocol, path: PATH });
}

const FORMS = ["text/event-stream", "application/json"] as const;

function readOf({
  requested,
}: Run): Pick<RunRead<TanstackState>, "protocol" | "projection" | "endedFrames" | "ids"> {
  const { metadata, response_format: format } = requested.request;
  const isStructured = format !== undefined && format.type !== "text";
  return {
    protocol,
    projection: tanstackProjection({ metadata, isStructured }),
    endedFrames: endAgain,
    ids: true,
  };
}

function needsOneName(): RepriseError {
  return new RepriseError("invalid_request", "runId: one of runId and threadId must be there.", {
    param: "runId",
  });
}
