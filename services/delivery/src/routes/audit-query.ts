import {
  type AuditSearch,
  encodeModelName,
  LIMITS,
  parseWith,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import * as z from "zod";
import { splitMetadata } from "./metadata-params.ts";
import { integerParam, timeParam } from "../http/query-params.ts";

const DEFAULT_LIMIT = 100;
const MOST = 1_000;
/** Longest cursor of a list, in characters; longer ones were not issued here. */
const CURSOR_LENGTH = 1_024;

const querySchema = z.strictObject({
  from: timeParam.optional(),
  to: timeParam.optional(),
  model: z.string().optional(),
  status: z.enum(["open", "completed", "failed", "cancelled"]).optional(),
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  limit: integerParam(1, MOST).prefault(`${DEFAULT_LIMIT}`),
  after: z.string().max(CURSOR_LENGTH).optional(),
});

/**
 * Which archived generations a tenant's auditor asks for.
 * @param query the parameters, a list where one is there several times
 * @throws RepriseError `invalid_request` that names the parameter
 */
export function parseAuditQuery(tenant: TenantId, query: unknown): AuditSearch {
  const { metadata, plain } = splitMetadata(query);
  const { from, to, model, status, subject, limit, after } = parseWith(querySchema, plain, "query");
  if (model !== undefined) encodeModelName(model);
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to))
    throw new RepriseError("invalid_request", "to: must be later than from", { param: "to" });
  return {
    tenant,
    limit,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(model !== undefined && { model }),
    ...(status !== undefined && { status }),
    ...(subject !== undefined && { subject }),
    ...(metadata && { metadata }),
    ...(after && { after }),
  };
}
