import {
  encodeCursor,
  type Generation,
  LIMITS,
  parseGenerationId,
  parseGenerationRequest,
  parseIdempotencyKey,
  parseToolResult,
  parseWith,
  RepriseError,
  START,
  Transcript,
} from "@reprise/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { answerToolCall } from "../domain/answer-tool-call.ts";
import { createGeneration } from "../domain/create-generation.ts";
import { cancelGeneration, readGeneration } from "../domain/read-generation.ts";
import { requestedCursor } from "../domain/resume.ts";
import { toGeneration } from "../domain/to-generation.ts";
import type { RouteContext } from "./context.ts";
import { streamEvents } from "./events.ts";
import { preferredType } from "./negotiation.ts";

/** The header that tells the id of a generation whose creation is answered with its stream. */
export const GENERATION_ID_HEADER = "Reprise-Generation-Id";

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const noQuery = z.strictObject({});
const cancelSchema = z.strictObject({ reason: z.string().min(1).max(LIMITS.cancelReasonLength).optional() });

export function addGenerationRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authenticate, log, ruleSets, shards, hasModel } = context;

  app.post("/v1/generations", async (request, reply) => {
    const { tenant, policy } = authenticate(request, "create");
    parseWith(noQuery, request.query, "query");
    const type = preferredType(request.headers.accept, ["application/json", "text/event-stream"]);
    const body = parseGenerationRequest(request.body);
    if (!hasModel(body.model)) {
      throw new RepriseError("model_not_found", `There is no model "${body.model}" here.`, {
        param: "model",
      });
    }
    const key = header(request, "idempotency-key");
    const lastEventId = header(request, "last-event-id") || undefined;
    if (lastEventId !== undefined && key === undefined) {
      const message = "A create that resumes needs the Idempotency-Key it was first sent with.";
      throw new RepriseError("invalid_request", message, { param: "Idempotency-Key" });
    }
    const resume = requestedCursor(lastEventId, undefined);
    const { ref, requested, joined } = await createGeneration({
      log,
      ruleSets,
      shards,
      tenant,
      tenantPolicy: policy,
      request: body,
      idempotencyKey: key === undefined ? undefined : parseIdempotencyKey(key),
      joinOnly: lastEventId !== undefined,
      traceparent: traceparentOf(request),
      now: new Date(),
    });
    const status = joined ? 200 : 201;
    void reply.header(GENERATION_ID_HEADER, ref.generation);
    if (type === "text/event-stream") return streamEvents(context, reply, { ref, resume, status });
    const generation: Generation = joined
      ? await readGeneration(context, ref)
      : { ...toGeneration(ref.generation, requested, new Transcript()), cursor: encodeCursor(START) };
    return reply.code(status).header("location", `/v1/generations/${ref.generation}`).send(generation);
  });

  app.get<{ Params: { id: string } }>("/v1/generations/:id", async (request) => {
    const { tenant } = authenticate(request, "read");
    parseWith(noQuery, request.query, "query");
    return readGeneration(context, { tenant, generation: parseGenerationId(request.params.id) });
  });

  app.post<{ Params: { id: string } }>("/v1/generations/:id/cancel", async (request) => {
    const { tenant } = authenticate(request, "cancel");
    parseWith(noQuery, request.query, "query");
    const { reason = "requested" } = parseWith(cancelSchema, request.body ?? {});
    return cancelGeneration(context, { tenant, generation: parseGenerationId(request.params.id) }, reason);
  });

  app.post<{ Params: { id: string } }>("/v1/generations/:id/tool-results", async (request) => {
    const { tenant } = authenticate(request, "tool");
    parseWith(noQuery, request.query, "query");
    const ref = { tenant, generation: parseGenerationId(request.params.id) };
    return answerToolCall(context, ref, parseToolResult(request.body));
  });
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
