import { OPS_PATHS, type OpsHandler } from "@reprise/service";
import type { FastifyInstance } from "fastify";

/** Liveness, readiness and metrics, beside the API. They need no key and say nothing of any tenant. */
export function addOpsRoutes(app: FastifyInstance, answer: OpsHandler): void {
  for (const path of OPS_PATHS) {
    app.get(
      path,
      { exposeHeadRoute: true, config: { isOpen: true, cors: false } },
      async (_request, reply) => {
        const { status, contentType, body } = await answer(path);
        return reply.code(status).type(contentType).send(body);
      },
    );
  }
}
