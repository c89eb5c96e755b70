import { parseWith } from "@reprise/protocol";
import { TOKEN_LIMITS } from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { noQuery } from "../http/query-params.ts";
import { type AdminContext, openCall } from "./admin-call.ts";

const rotationSchema = z
  .strictObject({ overlap_seconds: z.int().min(0).max(TOKEN_LIMITS.lifeSeconds).optional() })
  .optional();

/**
 * The platform's own keys of stream tokens, which sign for all tenants: listed and replaced, by the operator alone. They are of no tenant, so
 * OPS, whose records each have one, does not have the change: the node's log does.
 */
export function addTokenKeyRoutes(app: FastifyInstance, context: AdminContext): void {
  const { platformKeys, logger } = context;
  const config = { administers: true } as const;

  app.get("/v1/admin/token-keys", { config }, async (request, reply) => {
    openCall(context, request, reply).assertOperator("lists the keys of stream tokens");
    parseWith(noQuery, request.query, "query");
    return { object: "list", data: platformKeys.list().map(view) };
  });

  app.post("/v1/admin/token-keys/rotate", { config }, async (request, reply) => {
    // No tenants file holds these keys: they are replaced where it owns the tenants too.
    const call = openCall(context, request, reply);
    call.assertOperator("replaces the keys of stream tokens");
    parseWith(noQuery, request.query, "query");
    const seconds = parseWith(rotationSchema, request.body)?.overlap_seconds;
    const key = await platformKeys.rotate(seconds === undefined ? undefined : seconds * 1_000);
    const { address } = call;
    const about = { request: request.id, by: call.administrator.by, address, overlap_seconds: seconds };
    logger.info({ ...about, key: key.kid }, "replaced the platform's keys of stream tokens");
    return reply.code(201).send(view(key));
  });
}

function view<T extends object>(key: T) {
  return { object: "token_key", ...key } as const;
}
