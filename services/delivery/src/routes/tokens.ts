import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { GenerationLog } from "@reprise/stream";
import {
  END_USER_RULE,
  generationNotFound,
  isEndUser,
  parseGenerationId,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import {
  parseTokenTemplate,
  type Principal,
  scopesSchema,
  TOKEN_LIMITS,
  TOKEN_SCOPES,
  type TokenRequest,
  type TokenScope,
  UNBOUND_WARNING,
  type StreamTokens,
} from "@reprise/tenancy";
import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import { lacksRole, type Authentication } from "../http/auth.ts";
import { toRequested } from "../domain/to-requested.ts";
import { noQuery } from "../http/query-params.ts";

export interface TokenPorts {
  readonly authentication: Authentication;
  readonly tokens: StreamTokens;
  readonly log: GenerationLog;
  readonly bodies: RequestBodies;
}

const DEFAULT_TTL_SECONDS = 900;

const endUser = z.string().refine(isEndUser, { error: END_USER_RULE });
const ttl = z.int().min(1).max(TOKEN_LIMITS.lifeSeconds).default(DEFAULT_TTL_SECONDS);

export const generationTokenSchema = z.strictObject({
  scopes: scopesSchema.refine((scopes) => !scopes.includes("create"), "create is not of one generation"),
  ttl_seconds: ttl,
  end_user: endUser.optional(),
});
export const userTokenSchema = z
  .strictObject({
    scopes: scopesSchema,
    ttl_seconds: ttl,
    end_user: endUser,
    /** Fields that are fixed in the requests that the token creates: `parseTokenTemplate` reads them. */
    template: z.record(z.string(), z.unknown()).optional(),
    /** True if they may have moderation rules of their own. */
    rules: z.boolean().default(false),
  })
  .refine(({ scopes, template }) => template === undefined || scopes.includes("create"), {
    error: "is of a token that creates",
    path: ["template"],
  })
  .refine(({ scopes, template, rules }) => !rules || (scopes.includes("create") && template === undefined), {
    error: "is of a token that creates without a template",
    path: ["rules"],
  });

/** Stream tokens of the platform's own, minted for those who have an API key with the same roles. */
export function addTokenRoutes(app: FastifyInstance, context: TokenPorts): void {
  const { authentication, bodies, log, tokens } = context;
  const config = { roles: TOKEN_SCOPES } as const;

  app.post<{ Params: { id: string } }>("/v1/generations/:id/tokens", { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    parseWith(noQuery, request.query, "query");
    const body = parseWith(generationTokenSchema, request.body);
    assertRoles(principal, body.scopes);
    const ref = { tenant, generation: parseGenerationId(request.params.id) };
    const first = await log.reader.readFirst(ref);
    if (!first) throw generationNotFound();
    const owner = toRequested(first.payload).request.end_user;
    if (body.end_user !== undefined && body.end_user !== owner) {
      const message = "end_user: is not the end user of this generation.";
      throw new RepriseError("invalid_request", message, { param: "end_user" });
    }
    return await mint(reply, { ...toRequest(principal, body), generation: ref.generation });
  });

  app.post("/v1/tokens", { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const body = parseWith(userTokenSchema, request.body);
    assertRoles(principal, body.scopes);
    const template = body.template && parseTokenTemplate(body.template);
    return await mint(reply, { ...toRequest(principal, body), template, mayBringRules: body.rules });
  });

  async function mint(reply: FastifyReply, request: TokenRequest): Promise<FastifyReply> {
    const { token, tokenId, expiresAtMs } = await tokens.mint(request);
    const { scopes, generation, endUser: user, template, mayBringRules = false } = request;
    const isUnbound = scopes.includes("create") && template === undefined;
    return reply.code(201).send({
      object: "token",
      id: tokenId,
      token,
      scopes,
      ...(generation !== undefined && { generation }),
      ...(user !== undefined && { end_user: user }),
      ...(template && { template }),
      ...(mayBringRules && { rules: true }),
      ...(isUnbound && { warning: UNBOUND_WARNING }),
      expires_at: new Date(expiresAtMs).toISOString(),
    });
  }
}

function toRequest(
  { tenant }: Principal,
  { scopes, ttl_seconds, end_user }: z.infer<typeof generationTokenSchema>,
): TokenRequest {
  return { tenant, scopes, endUser: end_user, ttlSeconds: ttl_seconds };
}

/** A key can't give away what it does not have itself. */
function assertRoles({ roles }: Principal, scopes: readonly TokenScope[]): void {
  for (const scope of scopes) if (!roles.has(scope)) throw lacksRole(scope);
}
