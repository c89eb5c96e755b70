import { createHash } from "node:crypto";
import { type Publish, type OpsTopic, recordOps } from "@reprise/broker";
import { type AccessRecord, type AuditSearch, RepriseError } from "@reprise/protocol";

/** Milliseconds that a caller waits for a broker that does not take the record. */
const BUDGET_MS = 3_000;
const HASH_CHARS = 16;

/**
 * Records an access to the audit log, before the first byte of the response: what can't be recorded is not shown.
 * @throws RepriseError `broker_unavailable` when it is not stored
 */
export async function recordAccess(
  publish: Publish,
  topic: OpsTopic,
  access: Omit<AccessRecord, "kind" | "at">,
): Promise<void> {
  const record: AccessRecord = { kind: "access", at: new Date().toISOString(), ...access };
  if (await recordOps(publish, topic, record, { budgetMs: BUDGET_MS })) return;
  throw new RepriseError("broker_unavailable", "The access could not be recorded, so nothing is shown.", {
    retryAfterMs: 1_000,
  });
}

/**
 * Returns the search parameters in their recorded form. Subjects and metadata may name people, who may be erased later: they are recorded as hashes, which can
 * show whether a given name was searched for.
 */
export function toAccess({
  tenant: _tenant,
  metadata = {},
  subject,
  ...plain
}: AuditSearch): Pick<AccessRecord, "call" | "query"> {
  const { limit: _limit, after: _after, ...narrowing } = plain;
  const hidden = [
    ...Object.entries(metadata).map(([key, value]) => [`metadata[${key}]`, hash(value)] as const),
    ...(subject === undefined ? [] : [["subject", hash(subject)] as const]),
  ];
  const isSearch = hidden.length > 0 || Object.keys(narrowing).length > 0;
  const shown = Object.entries(plain).map(([name, value]) => [name, `${value}`] as const);
  return { call: isSearch ? "search" : "list", query: Object.fromEntries([...shown, ...hidden]) };
}

function hash(value: string): string {
  return `sha256:${createHash("sha256").update(value).digest("hex").slice(0, HASH_CHARS)}`;
}
