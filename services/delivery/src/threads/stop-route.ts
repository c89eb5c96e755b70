import { announceEnd } from "@reprise/log";
import { parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { cancelGeneration } from "../domain/read-generation.ts";
import type { RouteContext } from "../routes/context.ts";
import { cancelSchema } from "../routes/generations.ts";
import { noQuery } from "../routes/query-params.ts";
import { toResponse } from "../routes/to-response.ts";
import { findThreadRun } from "./thread-runs.ts";

/** A client that leaves stops nothing: `POST …/{threadId}/stop` cancels the newest run of a thread, and `…/{generation}/stop` that one. */
export function addStopRoute(
  app: FastifyInstance,
  context: RouteContext,
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
    if (!ref) return reply.code(204).send();
    notes.add(request, { generation: ref.generation });
    const generation = await cancelGeneration(context, ref, reason);
    announceEnd(broker.main, ref, generation.usage ?? undefined);
    return toResponse(context, [request, reply], { ref, generation });
  });
}
