import { randomBytes } from "node:crypto";
import { parseWith } from "@reprise/protocol";
import {
  createKey,
  findKey,
  keyIdOf,
  newKeySchema,
  readKeyUse,
  rotationSchema,
  type TenantRecord,
  viewKey,
  withKey,
  withoutKey,
  withRotatedKey,
} from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import { noQuery } from "../http/query-params.ts";
import { type AdminContext, changeTenant, openCall, readTenant, sendTenant } from "./admin-call.ts";

const RANDOM_BYTES = 24;

/** API keys: listed, created, rotated and revoked. A secret is in the answer that made it, and nowhere else. */
export function addKeyRoutes(app: FastifyInstance, context: AdminContext): void {
  const config = { administers: true } as const;
  const all = "/v1/admin/tenants/:id/keys";
  interface Params {
    Params: { id: string; key: string };
  }

  const show = (record: TenantRecord, id: string, secret: string) => ({
    ...viewKey(findKey(record, id)),
    secret,
  });

  app.get<Params>(all, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const { record, revision } = await readTenant(context, tenant);
    const used = await readKeyUse(context.reads, tenant);
    return sendTenant(reply, revision, {
      object: "list",
      data: record.keys.map((key) => viewKey(key, used)),
    });
  });

  app.post<Params>(all, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const wanted = parseWith(newKeySchema, request.body);
    const made = createKey(tenant, randomBytes(RANDOM_BYTES));
    const key = keyIdOf(made.sha256);
    const change = { ...call, tenant, call: "key.create", key } as const;
    const now = new Date();
    const { record, revision } = await changeTenant(context, request, change, (present) =>
      withKey(present, made, wanted, now),
    );
    void reply.code(201).header("location", `/v1/admin/tenants/${tenant}/keys/${key}`);
    return sendTenant(reply, revision, show(record, key, made.secret));
  });

  app.get<Params>(`${all}/:key`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const { record, revision } = await readTenant(context, tenant);
    const key = findKey(record, request.params.key);
    return sendTenant(reply, revision, viewKey(key, await readKeyUse(context.reads, tenant)));
  });

  app.post<Params>(`${all}/:key/rotate`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const rotation = parseWith(rotationSchema, request.body ?? {});
    const made = createKey(tenant, randomBytes(RANDOM_BYTES));
    const { key: id } = request.params;
    const change = { ...call, tenant, call: "key.rotate", key: id } as const;
    const now = new Date();
    const { record, revision } = await changeTenant(context, request, change, (present) =>
      withRotatedKey(present, { id, key: made, rotation, now }),
    );
    const key = keyIdOf(made.sha256);
    void reply.code(201).header("location", `/v1/admin/tenants/${tenant}/keys/${key}`);
    return sendTenant(reply, revision, show(record, key, made.secret));
  });

  app.delete<Params>(`${all}/:key`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const { key } = request.params;
    let isRevoked = false;
    await changeTenant(context, request, { ...call, tenant, call: "key.revoke", key }, (present) => {
      // Ours may be stored, and only its answer be lost.
      if (isRevoked && !present.keys.some(({ sha256 }) => keyIdOf(sha256) === key)) return present;
      isRevoked = true;
      return withoutKey(present, key);
    });
    return reply.code(204).send();
  });
}
