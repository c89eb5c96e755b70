import {
  type AuditSearch,
  encodeModelName,
  LIMITS,
  parseWith,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import * as z from "zod";
import { integerParam } from "./query-params.ts";

const DEFAULT_LIMIT = 100;
const MOST = 1_000;
/** Of the cursor of a list; longer ones are not ours. */
const CURSOR_LENGTH = 1_024;

const time = z.iso.datetime({ error: "must be a time in UTC, such as 2026-11-21T02:00:00Z" }).optional();

const querySchema = z.strictObject({
  from: time,
  to: time,
  model: z.string().optional(),
  status: z.enum(["open", "completed", "failed", "cancelled"]).optional(),
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  limit: integerParam(1, MOST).prefault(`${DEFAULT_LIMIT}`),
  after: z.string().max(CURSOR_LENGTH).optional(),
});

const METADATA = /^metadata\[(.+)\]$/s;

/**
 * Which archived generations a tenant's auditor asks for.
 * @param query the parameters, a list where one is there several times
 * @throws RepriseError `invalid_request` that names the parameter
 */
export function parseAuditQuery(tenant: TenantId, query: unknown): AuditSearch {
  const all = Object.entries(query as Record<string, unknown>);
  const pairs = all.flatMap(([name, value]) => {
    const key = METADATA.exec(name)?.[1];
    return key === undefined ? [] : [[key, parseValue(name, key, value)] as const];
  });
  if (pairs.length > LIMITS.metadataPairs)
    throw invalid("metadata", `metadata: must have at most ${LIMITS.metadataPairs} pairs`);
  const plain = Object.fromEntries(all.filter(([name]) => !METADATA.test(name)));
  const { from, to, model, status, subject, limit, after } = parseWith(querySchema, plain, "query");
  if (model !== undefined) encodeModelName(model);
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to))
    throw invalid("to", "to: must be later than from");
  return {
    tenant,
    limit,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(model !== undefined && { model }),
    ...(status !== undefined && { status }),
    ...(subject !== undefined && { subject }),
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
    ...(after && { after }),
  };
}

function parseValue(param: string, key: string, value: unknown): string {
  if (key.length > LIMITS.metadataKeyLength)
    throw invalid(param, `metadata: a name has at most ${LIMITS.metadataKeyLength} characters`);
  if (typeof value === "string" && value.length <= LIMITS.metadataValueLength) return value;
  throw invalid(param, `${param}: must be one text of at most ${LIMITS.metadataValueLength} characters`);
}

function invalid(param: string, message: string): RepriseError {
  return new RepriseError("invalid_request", message, { param });
}
