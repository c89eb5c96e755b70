import type { AuditClient } from "@reprise/broker";
import type { GenerationLog } from "@reprise/stream";
import type { Authentication } from "../http/auth.ts";
import { parseGenerationId, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { recordAccess, toAccess } from "../domain/audit-access.ts";
import { parseAuditQuery } from "./audit-query.ts";
import { noQuery } from "../http/query-params.ts";

export interface AuditPorts {
  readonly authentication: Authentication;
  readonly log: GenerationLog;
  readonly audit: AuditClient;
}

/**
 * Adds the routes by which auditors read the archive. The tenant is the key's, and every access is recorded before anything is shown. The archive may take
 * seconds, so the key is checked again before the answer.
 */
export function addAuditRoutes(app: FastifyInstance, { authentication, audit, log }: AuditPorts): void {
  const config = { roles: ["audit"] } as const;
  app.get("/v1/audit/generations", { config }, async (request) => {
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    const search = parseAuditQuery(tenant, request.query);
    await recordAccess(log.publish, { tenant }, { ...callerOf(request, principal), ...toAccess(search) });
    const page = await audit.search(search);
    authentication.renewReader(principal, "audit");
    return page;
  });

  app.get<{ Params: { id: string } }>("/v1/audit/generations/:id", { config }, async (request) => {
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const ref = { tenant: principal.tenant, generation: parseGenerationId(request.params.id) };
    await recordAccess(log.publish, ref, { ...callerOf(request, principal), call: "read" });
    const record = await audit.record(ref);
    authentication.renewReader(principal, "audit");
    return record;
  });
}
