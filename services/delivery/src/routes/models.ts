import { CAPABILITIES, parseWith, type ServedBy } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { lacksRole, type Authentication } from "../http/auth.ts";
import { toOpenAiErrorBody } from "../http/error-body.ts";
import { assertModel } from "../models/assert-model.ts";
import { withTold, type ModelWorkers } from "../models/check-request.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import { noQuery } from "../http/query-params.ts";

export interface ModelPorts {
  readonly authentication: Authentication;
  readonly fleet: ModelWorkers;
  readonly modelNames: () => ReadonlySet<string>;
  readonly servedBy: (model: string) => ServedBy | undefined;
}

/** For one model the rest of the path is its name: it may contain slashes, which not every client encodes. */
const MODEL_PATH = "/v1/models/*";

/** Each path, and the methods that it takes. */
export const MODEL_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/models": ["GET"],
  [MODEL_PATH]: ["GET"],
};

/** Who made a model, and when, the platform does not know: clients of OpenAI's API read both. */
const UNKNOWN_ORIGIN = { created: 0, owned_by: "reprise" };

/** Adds the routes that list the models of a tenant, in the form of OpenAI's API, with additional fields of the platform. */
export function addModelRoutes(app: FastifyInstance, context: ModelPorts): void {
  const { authentication, modelNames, servedBy, fleet } = context;
  const config = { roles: ["create", "read"], streamTokens: true, errors: toOpenAiErrorBody } as const;
  app.get("/v1/models", { config }, async (request) => {
    const { models: allowed } = principalOf(request);
    parseWith(noQuery, request.query, "query");
    const names = [...modelNames()].filter((name) => !allowed || allowed.has(name));
    return { object: "list", data: await Promise.all(names.toSorted().map(toModel)) };
  });
  app.get<{ Params: { "*": string } }>(MODEL_PATH, { config }, async (request) => {
    const principal = principalOf(request);
    parseWith(noQuery, request.query, "query");
    const { "*": name } = request.params;
    assertModel(context, principal, name);
    return toModel(name);
  });

  /**
   * A stream token that can't create has no use for a model's name, and one with a template for that of the template alone.
   * @throws RepriseError `forbidden`
   */
  function principalOf(request: FastifyRequest): Pick<Principal, "models"> {
    const principal = authentication.principalOf(request);
    if (principal.tokenId !== undefined && !principal.roles.has("create")) throw lacksRole("create");
    const { template, models } = principal;
    return { models: template ? new Set([template.model]) : models };
  }

  /** Without its capabilities where this node does not know them. */
  async function toModel(id: string): Promise<object> {
    const served = servedBy(id);
    const contextTokens = await contextTokensOf(context, id);
    const known = served && withTold(served, await fleet.capabilitiesOf(id)).capabilities;
    return {
      id,
      object: "model",
      ...UNKNOWN_ORIGIN,
      ...(contextTokens !== undefined && { context_tokens: contextTokens }),
      ...(known && { capabilities: CAPABILITIES.filter((name) => known.has(name)) }),
    };
  }
}
