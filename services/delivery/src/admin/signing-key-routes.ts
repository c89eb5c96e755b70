import { parseWith } from "@reprise/protocol";
import {
  findSigningKey,
  newSigningKeySchema,
  signingKeyRotationSchema,
  viewSigningKey,
  withoutSigningKey,
  withRotatedSigningKey,
  withSigningKey,
} from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import { noQuery } from "../http/query-params.ts";
import { type AdminContext, changeTenant, openCall, readTenant, sendTenant } from "./admin-call.ts";

/** The keys with which tenants sign stream tokens: listed, registered, rotated and removed. They are public. */
export function addSigningKeyRoutes(app: FastifyInstance, context: AdminContext): void {
  const config = { administers: true } as const;
  const all = "/v1/admin/tenants/:id/signing-keys";
  interface Params {
    Params: { id: string; key: string };
  }

  app.get<Params>(all, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const { record, revision } = await readTenant(context, call.tenantOf(request.params.id));
    return sendTenant(reply, revision, { object: "list", data: record.signing_keys.map(viewSigningKey) });
  });

  app.post<Params>(all, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const wanted = parseWith(newSigningKeySchema, request.body);
    const { kid } = wanted;
    const now = new Date();
    const change = { ...call, tenant, call: "signing_key.add", key: kid } as const;
    const { record, revision } = await changeTenant(context, request, change, (present) =>
      withSigningKey(present, wanted, now),
    );
    void reply.code(201).header("location", `/v1/admin/tenants/${tenant}/signing-keys/${kid}`);
    return sendTenant(reply, revision, viewSigningKey(findSigningKey(record, kid)));
  });

  app.get<Params>(`${all}/:key`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const { record, revision } = await readTenant(context, call.tenantOf(request.params.id));
    return sendTenant(reply, revision, viewSigningKey(findSigningKey(record, request.params.key)));
  });

  app.post<Params>(`${all}/:key/rotate`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const rotation = parseWith(signingKeyRotationSchema, request.body);
    const { key: kid } = request.params;
    const now = new Date();
    const change = { ...call, tenant, call: "signing_key.rotate", key: kid } as const;
    const { record, revision } = await changeTenant(context, request, change, (present) =>
      withRotatedSigningKey(present, { kid, rotation, now }),
    );
    void reply.code(201).header("location", `/v1/admin/tenants/${tenant}/signing-keys/${rotation.kid}`);
    return sendTenant(reply, revision, viewSigningKey(findSigningKey(record, rotation.kid)));
  });

  app.delete<Params>(`${all}/:key`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const { key } = request.params;
    let isRemoved = false;
    await changeTenant(context, request, { ...call, tenant, call: "signing_key.remove", key }, (present) => {
      // Ours may be stored, and only its answer be lost.
      if (isRemoved && !present.signing_keys.some(({ kid }) => kid === key)) return present;
      isRemoved = true;
      return withoutSigningKey(present, key);
    });
    return reply.code(204).send();
  });
}
