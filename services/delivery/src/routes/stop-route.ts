import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { Authentication } from "../http/auth.ts";
import { announceEnd } from "@reprise/stream";
import { type Broker } from "@reprise/broker";
import { parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { cancelGeneration } from "../domain/read-generation.ts";
import type { ReadSources } from "../domain/shown-generation.ts";
import { cancelSchema } from "./generations.ts";
import { noQuery } from "../http/query-params.ts";
import { toResponse, type ResponsePorts } from "./to-response.ts";
import { findThreadRun, type ThreadPorts } from "../threads/thread-runs.ts";

export interface StopPorts extends ReadSources, ResponsePorts, ThreadPorts {
  readonly authentication: Authentication;
  readonly broker: Broker;
  readonly bodies: RequestBodies;
  readonly notes: RequestNotes;
  readonly readerMetrics: ReaderMetrics;
}

/** A client that leaves stops nothing: `POST …/{threadId}/stop` cancels the newest run of a thread, and `…/{generation}/stop` that one. */
export function addStopRoute(
  app: FastifyInstance,
  context: StopPorts,
  { protocol, path }: { readonly protocol: string; readonly path: string },
): void {
  const { authentication, bodies, broker, notes } = context;
  const config = { roles: ["cancel"], streamTokens: true } as const;
  app.post<{ Params: { id: string } }>(`${path}/:id/stop`, { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const { reason = "stopped" } = parseWith(cancelSchema, request.body ?? {});
    const ref = await findThreadRun(context, principal, { protocol, id: request.params.id });
    if (!ref) return await reply.code(204).send();
    notes.add(request, { generation: ref.generation });
    const generation = await cancelGeneration(context, ref, reason);
    announceEnd(broker.main, ref, generation.usage ?? undefined);
    return toResponse(context, [request, reply], { ref, generation });
  });
}
