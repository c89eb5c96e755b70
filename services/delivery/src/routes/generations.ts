import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { Authentication } from "../http/auth.ts";
import { type Generation, type GenerationRef, LIMITS, parseToolResult, parseWith } from "@reprise/protocol";
import { announceEnd, type GenerationLog } from "@reprise/stream";
import { type AuditClient, type Broker } from "@reprise/broker";
import type { Role } from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { readArchivedGeneration } from "../archive-fallback/archived-generation.ts";
import { withArchiveFallback } from "../archive-fallback/with-archive-fallback.ts";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { answerToolCall } from "../domain/answer-tool-call.ts";
import { recordAccess } from "../domain/audit-access.ts";
import { accessGeneration } from "../domain/generation-access.ts";
import { interruptGeneration, type InterruptSources } from "../domain/interrupt-generation.ts";
import { cancelGeneration, readGeneration } from "../domain/read-generation.ts";
import type { ReadSources } from "../domain/shown-generation.ts";
import { checkToolContent, type ToolContentPorts } from "../models/check-tool-content.ts";
import { addCreateRoute, type CreateRoutePorts } from "./create.ts";
import { booleanParam, noQuery } from "../http/query-params.ts";
import { recordSnapshot, toResponse, type ResponsePorts } from "./to-response.ts";

export interface GenerationPorts extends CreateRoutePorts, ReadSources, ResponsePorts, ToolContentPorts {
  readonly authentication: Authentication;
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly audit: AuditClient;
  readonly bodies: RequestBodies;
  readonly notes: RequestNotes;
  readonly readerMetrics: ReaderMetrics;
  readonly inputs: InterruptSources["inputs"];
}

const readQuery = z.strictObject({ original: booleanParam });
/** The body of a call that cancels. */
export const cancelSchema = z.strictObject({
  reason: z.string().min(1).max(LIMITS.cancelReasonLength).optional(),
});

const interruptSchema = z.strictObject({ heard: z.string() });

export function addGenerationRoutes(app: FastifyInstance, context: GenerationPorts): void {
  const { authentication, log, audit } = context;
  addCreateRoute(app, context);

  const config = { roles: ["read", "audit"], streamTokens: true } as const;
  app.get<{ Params: { id: string } }>("/v1/generations/:id", { config }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const caller = callerOf(request, principal);
    const { original } = parseWith(readQuery, request.query, "query");
    const ref = await accessGeneration(log, principal, request.params.id);
    context.notes.add(request, { generation: ref.generation });
    return withArchiveFallback({
      principal,
      original,
      async live(role) {
        const generation = await readGeneration(context, ref);
        // Recording an access, and reading, may have taken seconds.
        authentication.renewReader(principal, role);
        recordSnapshot(context, [request, reply], { ref, generation });
        return generation;
      },
      async archived() {
        const generation = await readArchivedGeneration({ audit, ref, original });
        // The archive may have taken seconds.
        authentication.renewReader(principal, "audit");
        return generation;
      },
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
      config: { roles: [role], streamTokens: true },
      async handler(request, reply) {
        using _ = context.bodies.keep(request.raw);
        const principal = authentication.principalOf(request);
        parseWith(noQuery, request.query, "query");
        const ref = await accessGeneration(log, principal, request.params.id);
        context.notes.add(request, { generation: ref.generation });
        const generation = await answer(ref, request.body);
        return toResponse(context, [request, reply], { ref, generation });
      },
    });
  }

  addCall(["/cancel", "cancel"], async (ref, body) => {
    const { reason = "requested" } = parseWith(cancelSchema, body ?? {});
    const generation = await cancelGeneration(context, ref, reason);
    announceEnd(context.broker.main, ref, generation.usage ?? undefined);
    return generation;
  });
  addCall(["/interrupt", "cancel"], (ref, body) =>
    interruptGeneration(context, ref, parseWith(interruptSchema, body).heard),
  );
  addCall(["/tool-results", "tool"], async (ref, body) => {
    const result = parseToolResult(body);
    if (result.content) await checkToolContent(context, ref, result.content);
    return answerToolCall(context, ref, result);
  });
}
