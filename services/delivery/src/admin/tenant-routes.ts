import {
  assertKnownClassifiersOf,
  newTenant,
  newTenantSchema,
  tenantSettingsSchema,
  type TenantSettings,
  viewSettings,
  viewTenant,
  withSettings,
} from "@reprise/tenancy";
import { isDeepStrictEqual } from "node:util";
import { type ModerationRule, parseWith, RepriseError } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { integerParam, noQuery } from "../http/query-params.ts";
import { type AdminContext, changeTenant, openCall, readTenant, sendTenant } from "./admin-call.ts";
import { recordChange } from "./record-change.ts";
import { parseIfMatch } from "./etag.ts";

const MAX_TENANTS = 10_000;
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;

export const tenantListSchema = z.strictObject({
  limit: integerParam(1, MAX_PAGE).prefault(`${DEFAULT_PAGE}`),
  after: z.string().optional(),
});

/** Tenants: listed, added, shown, removed, and their policies. */
export function addTenantRoutes(app: FastifyInstance, context: AdminContext): void {
  const { administration, classifiers, log, logger } = context;
  const config = { administers: true } as const;
  const one = "/v1/admin/tenants/:id";
  interface Params {
    Params: { id: string };
  }

  app.get("/v1/admin/tenants", { config }, async (request, reply) => {
    const { administrator } = openCall(context, request, reply);
    const { limit, after } = parseWith(tenantListSchema, request.query, "query");
    const { tenant } = administrator;
    const all = [...administration.directory.all()]
      .filter(({ id }) => (tenant === undefined || id === tenant) && (after === undefined || id > after))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const data = all.slice(0, limit).map(({ id, keys }) => ({ id, object: "tenant", keys: keys.length }));
    return { object: "list", data, has_more: all.length > limit };
  });

  app.post("/v1/admin/tenants", { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    call.assertOperator("adds and removes tenants");
    parseWith(noQuery, request.query, "query");
    const record = newTenant(parseWith(newTenantSchema, request.body), new Date());
    await context.ruleChecks.checkPolicy(record.id, rulesOf(record));
    assertKnownClassifiersOf(record.policy, classifiers());
    if (administration.directory.stored().length >= MAX_TENANTS)
      throw new RepriseError("invalid_request", `There are ${MAX_TENANTS} tenants, which is the most.`);
    const stored = await recordChange(
      { publish: log.publish, logger },
      { ...call, tenant: record.id, call: "tenant.create" },
      async () => {
        const result = await administration.store.create(record);
        return { before: undefined, after: record, result };
      },
    );
    await administration.directory.sync();
    void reply.code(201).header("location", `/v1/admin/tenants/${record.id}`);
    return sendTenant(reply, stored.revision, viewTenant(stored.record));
  });

  app.get<Params>(one, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const { record, revision } = await readTenant(context, call.tenantOf(request.params.id));
    return sendTenant(reply, revision, viewTenant(record));
  });

  app.delete<Params>(one, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    call.assertOperator("adds and removes tenants");
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const ifRevision = parseIfMatch(request.headers["if-match"]);
    await recordChange(
      { publish: log.publish, logger },
      { ...call, tenant, call: "tenant.remove" },
      async () => {
        // One that can't be read is removed too.
        const before = await administration.store.read(tenant).catch(() => undefined);
        await administration.store.remove(tenant, { ifRevision });
        return { before: before?.record, after: undefined, result: undefined };
      },
    );
    await administration.directory.sync();
    return reply.code(204).send();
  });

  app.get<Params>(`${one}/policy`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply);
    parseWith(noQuery, request.query, "query");
    const { record, revision } = await readTenant(context, call.tenantOf(request.params.id));
    return sendTenant(reply, revision, viewSettings(record));
  });

  app.put<Params>(`${one}/policy`, { config }, async (request, reply) => {
    const call = openCall(context, request, reply, { isChange: true });
    parseWith(noQuery, request.query, "query");
    const tenant = call.tenantOf(request.params.id);
    const settings = parseWith(tenantSettingsSchema, request.body);
    await context.ruleChecks.checkPolicy(tenant, rulesOf(settings));
    assertKnownClassifiersOf(settings.policy, classifiers());
    const { record, revision } = await changeTenant(
      context,
      request,
      { ...call, tenant, call: "tenant.policy" },
      (present) => {
        if (call.administrator.tenant !== undefined) assertOwnSettings(present, settings);
        return withSettings(present, settings);
      },
    );
    return sendTenant(reply, revision, viewSettings(record));
  });
}

function rulesOf({ policy }: Pick<TenantSettings, "policy">): readonly ModerationRule[] {
  return policy.moderation?.rules ?? [];
}

/** Refuses settings that a tenant must not change for itself: retention, allowed models, and every limit and budget. */
function assertOwnSettings(present: TenantSettings, next: TenantSettings): void {
  for (const field of ["models", "limits", "slots", "budgets", "conversations", "audit"] as const) {
    if (isDeepStrictEqual(present[field], next[field])) continue;
    throw new RepriseError("forbidden", `${field}: only the operator changes it. Send it as it is.`, {
      param: field,
    });
  }
}
