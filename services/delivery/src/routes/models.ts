import { CAPABILITIES, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import type { RouteContext } from "./context.ts";
import { noQuery } from "./query-params.ts";

/** What a tenant's clients may ask for. */
export function addModelRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authentication, modelNames, servedBy } = context;
  app.get("/v1/models", { config: { roles: ["create", "read"], streamTokens: true } }, async (request) => {
    const { models: allowed } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const names = [...modelNames()].filter((name) => !allowed || allowed.has(name));
    return { object: "list", data: names.toSorted().map(toModel) };
  });

  /** Without its capabilities where this node does not know them. */
  function toModel(id: string): object {
    const known = servedBy(id)?.capabilities;
    return {
      id,
      object: "model",
      ...(known && { capabilities: CAPABILITIES.filter((name) => known.has(name)) }),
    };
  }
}
