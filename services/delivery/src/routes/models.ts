import { CAPABILITIES, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { withTold } from "../models/check-request.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import type { RouteContext } from "./context.ts";
import { noQuery } from "./query-params.ts";

/** What a tenant's clients may ask for. */
export function addModelRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authentication, modelNames, servedBy, scale } = context;
  app.get("/v1/models", { config: { roles: ["create", "read"], streamTokens: true } }, async (request) => {
    const { models: allowed } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const names = [...modelNames()].filter((name) => !allowed || allowed.has(name));
    return { object: "list", data: await Promise.all(names.toSorted().map(toModel)) };
  });

  /** Without its capabilities where this node does not know them. */
  async function toModel(id: string): Promise<object> {
    const served = servedBy(id);
    const contextTokens = await contextTokensOf(context, id);
    const known = served && withTold(served, await scale.capabilitiesOf(id)).capabilities;
    return {
      id,
      object: "model",
      ...(contextTokens !== undefined && { context_tokens: contextTokens }),
      ...(known && { capabilities: CAPABILITIES.filter((name) => known.has(name)) }),
    };
  }
}
