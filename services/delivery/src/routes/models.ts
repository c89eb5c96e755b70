import { CAPABILITIES, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { toOpenAiErrorBody } from "../http/error-body.ts";
import { assertModel } from "../models/assert-model.ts";
import { withTold } from "../models/check-request.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import type { RouteContext } from "./context.ts";
import { noQuery } from "./query-params.ts";

/** Of one model the rest of the path is the name: it may have slashes, which not every client encodes. */
const MODEL_PATH = "/v1/models/*";

/** Each path, and the methods that it takes. */
export const MODEL_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/models": ["GET"],
  [MODEL_PATH]: ["GET"],
};

/** Who made a model, and when, the platform does not know: clients of OpenAI's API read both. */
const UNKNOWN_ORIGIN = { created: 0, owned_by: "reprise" };

/** What a tenant's clients may ask for, as OpenAI's API has it, with what the platform knows beside. */
export function addModelRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authentication, modelNames, servedBy, scale } = context;
  const config = { roles: ["create", "read"], streamTokens: true, errors: toOpenAiErrorBody } as const;
  app.get("/v1/models", { config }, async (request) => {
    const { models: allowed } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const names = [...modelNames()].filter((name) => !allowed || allowed.has(name));
    return { object: "list", data: await Promise.all(names.toSorted().map(toModel)) };
  });
  app.get<{ Params: { "*": string } }>(MODEL_PATH, { config }, async (request) => {
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const { "*": name } = request.params;
    assertModel(context, principal, name);
    return toModel(name);
  });

  /** Without its capabilities where this node does not know them. */
  async function toModel(id: string): Promise<object> {
    const served = servedBy(id);
    const contextTokens = await contextTokensOf(context, id);
    const known = served && withTold(served, await scale.capabilitiesOf(id)).capabilities;
    return {
      id,
      object: "model",
      ...UNKNOWN_ORIGIN,
      ...(contextTokens !== undefined && { context_tokens: contextTokens }),
      ...(known && { capabilities: CAPABILITIES.filter((name) => known.has(name)) }),
    };
  }
}
