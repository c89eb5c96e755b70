import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { CreateGeneration } from "../create/create-generation.ts";
import {
  encodeCursor,
  EXTERNAL_MODEL,
  type Generation,
  MediaTranscript,
  parseGenerationRequest,
  parseWith,
  START,
} from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import type { Producers } from "../producers/producers.ts";
import { withTemplateModel } from "../create/with-token.ts";
import { readGeneration } from "../domain/read-generation.ts";
import type { ReadSources } from "../domain/shown-generation.ts";
import { requestedCursor } from "../domain/resume-cursor.ts";
import { toGeneration } from "../domain/to-generation.ts";
import { lacksRole, type Authentication } from "../http/auth.ts";
import { headerOf } from "../http/header-of.ts";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { streamEvents, type EventPorts } from "./events.ts";
import { preferredType } from "../http/negotiation.ts";
import { noQuery } from "../http/query-params.ts";
import { toResponse, type ResponsePorts } from "./to-response.ts";

export interface CreateRoutePorts extends EventPorts, ReadSources, ResponsePorts {
  readonly authentication: Authentication;
  readonly create: CreateGeneration;
  readonly bodies: RequestBodies;
  readonly limits: RequestLimits;
  readonly producers: Pick<Producers, "claim">;
  readonly readerMetrics: ReaderMetrics;
}

/** `POST /v1/generations`. */
export function addCreateRoute(app: FastifyInstance, context: CreateRoutePorts): void {
  const { authentication, readerMetrics } = context;
  app.post(
    "/v1/generations",
    { config: { roles: ["create"], streamTokens: true, countsItself: true } },
    async (request, reply) => {
      using _ = context.bodies.keep(request.raw);
      const principal = authentication.principalOf(request);
      const caller = callerOf(request, principal);
      parseWith(noQuery, request.query, "query");
      const type = preferredType(request.headers.accept, ["application/json", "text/event-stream"]);
      const isStream = type === "text/event-stream";
      if (isStream && !principal.roles.has("read")) throw lacksRole("read");
      const lastEventId = headerOf(request, "last-event-id") || undefined;
      const resume = requestedCursor(lastEventId, undefined);
      const creating = context.create({
        principal,
        call: [request, reply],
        request: parseGenerationRequest(withTemplateModel(request.body, principal)),
        idempotencyKey: headerOf(request, "idempotency-key"),
        joinOnly: lastEventId !== undefined,
        isStream,
      });
      using started = await readerMetrics.countGone(resume.cursor, creating);
      const { ref, requested, joined, status, begun } = started;
      if (isStream) {
        const onReplay = (bytesOf: () => number) => context.limits.replayed(request, principal, bytesOf);
        const stream = streamEvents(context, reply, {
          ref,
          resume,
          status,
          caller,
          principal,
          role: "read",
          onReplay,
          call: "create",
          begun,
        });
        return await readerMetrics.countGone(resume.cursor, stream);
      }
      const generation: Generation = joined
        ? await readGeneration(context, ref)
        : { ...toGeneration(ref.generation, requested, new MediaTranscript()), cursor: encodeCursor(START) };
      const shown = toResponse(context, [request, reply], { ref, generation });
      const isProduced = requested.request.model === EXTERNAL_MODEL && !joined;
      const answer = isProduced ? { ...shown, producer: await context.producers.claim(ref) } : shown;
      return await reply.code(status).header("location", `/v1/generations/${ref.generation}`).send(answer);
    },
  );
}
