import { parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { noQuery } from "../http/query-params.ts";
import { type AdminContext, openCall, readTenant } from "./admin-call.ts";
import { recordChange } from "./record-change.ts";
import { seedBudgets } from "./seed-budgets.ts";

const noBody = z.strictObject({}).optional();

/** Budgets whose ledger has lost its data. */
export function addBudgetRoutes(app: FastifyInstance, context: AdminContext): void {
  const { analytics, budgets, log, logger } = context;
  interface Params {
    Params: { id: string };
  }

  const path = "/v1/admin/tenants/:id/budgets/seed";
  app.post<Params>(path, { config: { administers: true } }, async (request, reply) => {
    // It changes no tenant's settings: it is there where the tenants file owns the tenants too.
    const call = openCall(context, request, reply);
    call.assertOperator("seeds budgets");
    parseWith(noQuery, request.query, "query");
    parseWith(noBody, request.body);
    const tenant = call.tenantOf(request.params.id);
    const { record } = await readTenant(context, tenant);
    const change = { ...call, tenant, call: "budgets.seed" } as const;
    const data = await recordChange({ publish: log.publish, logger }, change, async () => {
      const { ledger } = budgets;
      const options = { tenant, budgets: record.budgets ?? [], ledger, analytics, at: new Date() };
      return { before: undefined, after: undefined, result: await seedBudgets(options) };
    });
    return { object: "list", data };
  });
}
