import {
  type Generation,
  type GenerationRef,
  LIMITS,
  parseGenerationId,
  parseIdempotencyKey,
  parseToolResult,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import { type BufferedFeed, bufferLiveFeed } from "@reprise/log";
import type { Role } from "@reprise/tenancy";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { readArchivedGeneration } from "../archive-fallback/archived-generation.ts";
import { withArchiveFallback } from "../archive-fallback/with-archive-fallback.ts";
import { lacksRole } from "../http/auth.ts";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { answerToolCall } from "../domain/answer-tool-call.ts";
import { recordAccess } from "../domain/audit-access.ts";
import { createFromBody } from "../domain/create-from-body.ts";
import { newGenerationRef } from "../domain/create-generation.ts";
import { LargeBody } from "../large-creates/large-creates.ts";
import type { LargeCreated } from "../large-creates/messages.ts";
import { cancelGeneration, readGeneration } from "../domain/read-generation.ts";
import { requestedCursor } from "../domain/resume.ts";
import type { RouteContext } from "./context.ts";
import { streamEvents } from "./events.ts";
import { preferredType } from "./negotiation.ts";
import { booleanParam, noQuery } from "./query-params.ts";
import { recordSnapshot, toResponse } from "./to-response.ts";

/** The header that tells the id of a generation whose creation is answered with its stream. */
export const GENERATION_ID_HEADER = "Reprise-Generation-Id";

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const readQuery = z.strictObject({ original: booleanParam });
const cancelSchema = z.strictObject({ reason: z.string().min(1).max(LIMITS.cancelReasonLength).optional() });

export function addGenerationRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authentication, log, audit, ruleSets, shards, largeCreates, logger } = context;
  const onError = (error: unknown) => logger.error({ err: error }, "a callback failed");

  app.post(
    "/v1/generations",
    { config: { roles: ["create"], takesLargeBody: true } },
    async (request, reply) => {
      using _ = context.bodies.keep(request.raw);
      const principal = authentication.principalOf(request);
      const { tenant, policy } = principal;
      const caller = callerOf(request, principal);
      parseWith(noQuery, request.query, "query");
      const type = preferredType(request.headers.accept, ["application/json", "text/event-stream"]);
      if (type === "text/event-stream" && !principal.roles.has("read")) throw lacksRole("read");
      const key = header(request, "idempotency-key");
      const lastEventId = header(request, "last-event-id") || undefined;
      if (lastEventId !== undefined && key === undefined) {
        const message = "A create that resumes needs the Idempotency-Key it was first sent with.";
        throw new RepriseError("invalid_request", message, { param: "Idempotency-Key" });
      }
      const resume = requestedCursor(lastEventId, undefined);
      const isStream = type === "text/event-stream";
      const idempotencyKey = key === undefined ? undefined : parseIdempotencyKey(key);
      const ref = newGenerationRef(tenant, idempotencyKey, shards);
      const { main: connection } = context.broker;
      using expected = new DisposableStack();
      let listening: BufferedFeed | undefined;
      // So that the log of a generation that is streamed from its beginning need not be read.
      const listen = () => {
        if (isStream) listening = expected.use(bufferLiveFeed({ connection, onError }, ref));
      };
      const { body } = request;
      // Kept here it would be kept for as long as a stream that is the answer.
      request.body = undefined;
      const call = {
        ref,
        models: context.models(),
        classifiers: context.classifiers(),
        tenantPolicy: policy,
        idempotencyKey,
        joinOnly: lastEventId !== undefined,
        traceparent: traceparentOf(request),
      };
      let created: LargeCreated;
      if (body instanceof LargeBody) {
        listen();
        created = await largeCreates.create({ ...call, body: body.bytes, budgetMs: log.budgetMs, isStream });
      } else {
        created = await createFromBody(
          { ...call, log, ruleSets, connection, onError, onCreating: listen },
          body,
        );
      }
      const { joined, first } = created;
      context.bodies.release(request.raw);
      const status = joined ? 200 : 201;
      void reply.header(GENERATION_ID_HEADER, ref.generation);
      if (isStream) {
        const begun =
          first && listening && !joined
            ? { listening, snapshot: { events: [first.payload], streamSeq: first.streamSeq } }
            : undefined;
        return await streamEvents(context, reply, { ref, resume, status, caller, begun });
      }
      const generation = joined ? await readGeneration(context, ref) : created.generation;
      const answer = toResponse(context, [request, reply], { ref, generation });
      return reply.code(status).header("location", `/v1/generations/${ref.generation}`).send(answer);
    },
  );

  const config = { roles: ["read", "audit"] } as const;
  app.get<{ Params: { id: string } }>("/v1/generations/:id", { config }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const caller = callerOf(request, principal);
    const { original } = parseWith(readQuery, request.query, "query");
    const ref = { tenant: principal.tenant, generation: parseGenerationId(request.params.id) };
    return withArchiveFallback({
      principal,
      original,
      async live() {
        const generation = await readGeneration(context, ref);
        recordSnapshot(context, [request, reply], { ref, generation });
        return generation;
      },
      archived: () => readArchivedGeneration({ audit, ref, original }),
      recordAccess: () =>
        recordAccess(log.publish, ref, { ...caller, call: "read", query: { original: `${original}` } }),
    });
  });

  /** A call that changes a generation, and is answered with it. */
  function addCall(
    [path, role]: readonly [string, Role],
    answer: (ref: GenerationRef, body: unknown) => Promise<Generation>,
  ): void {
    app.route<{ Params: { id: string } }>({
      method: "POST",
      url: `/v1/generations/:id${path}`,
      config: { roles: [role] },
      async handler(request, reply) {
        using _ = context.bodies.keep(request.raw);
        const { tenant } = authentication.principalOf(request);
        parseWith(noQuery, request.query, "query");
        const ref = { tenant, generation: parseGenerationId(request.params.id) };
        const generation = await answer(ref, request.body);
        return toResponse(context, [request, reply], { ref, generation });
      },
    });
  }

  addCall(["/cancel", "cancel"], (ref, body) => {
    const { reason = "requested" } = parseWith(cancelSchema, body ?? {});
    return cancelGeneration(context, ref, reason);
  });
  addCall(["/tool-results", "tool"], (ref, body) => answerToolCall(context, ref, parseToolResult(body)));
}

/** A trace context that is malformed is left out, as W3C Trace Context has it. */
function traceparentOf(request: FastifyRequest): string | undefined {
  const value = header(request, "traceparent");
  return value !== undefined && TRACEPARENT.test(value) ? value : undefined;
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
