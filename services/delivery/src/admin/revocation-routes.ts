import { parseWith } from "@reprise/protocol";
import {
  findRevocation,
  neededRevocations,
  newRevocationSchema,
  viewRevocation,
  withRevocation,
} from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import { noQuery } from "../http/query-params.ts";
import { type AdminContext, changeTenant, openCall, readTenant, sendTenant } from "./admin-call.ts";

/** Revocations of stream tokens: listed and added. None can be taken back: a new token does as well. */
export function addRevocationRoutes(app: FastifyInstance, context: AdminContext): void {
  const config = { administers: true } as const;
  const all = "/v1/admin/tenants/:id/revocations";
  interface Params {
    Params: { id: string };
  }

  app.get<Params>(all, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const { record, revision } = await readTenant(context, call.tenantOf(request.params.id));
    const data = neededRevocations(record, new Date()).map(viewRevocation);
    return sendTenant(reply, revision, { object: "list", data });
  });

  app.post<Params>(all, { config }, async (request, reply) => {
    // No tenants file holds revocations: they are added where it owns the tenants too.
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const revoked = parseWith(newRevocationSchema, request.body);
    const now = new Date();
    const change = { ...call, tenant, call: "token.revoke", revoked } as const;
    const { record, revision } = await changeTenant(context, request, change, (present) =>
      withRevocation(present, revoked, now),
    );
    void reply.code(201);
    return sendTenant(reply, revision, viewRevocation(findRevocation(record, revoked)));
  });
}
