import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { Authentication } from "../../http/auth.ts";
import { clientTimingsSchema, generationNotFound, parseWith, RepriseError } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { accessGeneration } from "../../domain/generation-access.ts";
import { recordOps } from "@reprise/broker";
import { type GenerationLog } from "@reprise/stream";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { noQuery } from "../../http/query-params.ts";
import { ReportLimit } from "./report-limit.ts";

export interface TimingPorts {
  readonly authentication: Authentication;
  readonly log: GenerationLog;
  readonly bodies: RequestBodies;
}

/** Milliseconds that a caller waits for a broker that does not take the record. */
const BUDGET_MS = 3_000;

/** Takes what a client has measured of its reading. */
export function addTimingsRoute(app: FastifyInstance, context: TimingPorts): void {
  const { authentication, bodies, log } = context;
  const config = { roles: ["read"], streamTokens: true } as const;
  const limit = new ReportLimit();
  app.post<{ Params: { id: string } }>("/v1/generations/:id/timings", { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const timings = parseWith(clientTimingsSchema, request.body);
    const ref = await accessGeneration(log, principal, request.params.id);
    if (!(await log.reader.readFirst(ref))) throw generationNotFound();
    limit.count(ref.generation);
    const record = {
      kind: "timings",
      at: new Date().toISOString(),
      ...callerOf(request, principal),
      timings,
    } as const;
    if (await recordOps(log.publish, ref, record, { budgetMs: BUDGET_MS }))
      return await reply.code(204).send();
    throw new RepriseError("broker_unavailable", "The timings could not be recorded.", {
      retryAfterMs: 1_000,
    });
  });
}
