import type { Seq } from "../seq.ts";
import * as z from "zod";
import { isGenerationId, isTenantId, type GenerationId, type TenantId } from "../id.ts";

/*
 * Delivery's requests to the audit log: requests over core NATS, answered by any replica (queue group `audit-log`). The audit log alone has
 * the keys of the archive. A request is JSON. An answer that failed has the header `Reprise-Error` with an error body; no
 * responders are `audit_unavailable`.
 */

export const AUDIT_CALLS = ["search", "record", "events"] as const;
export type AuditCall = (typeof AUDIT_CALLS)[number];
export const AUDIT_QUEUE = "audit-log";

/** On a page of events: `1` if more events follow it. */
export const AUDIT_MORE_HEADER = "Reprise-More";

const tenant = z.string().transform((value, context): TenantId => {
  if (isTenantId(value)) return value;
  context.addIssue({ code: "custom", message: "is not a tenant" });
  return z.NEVER;
});
const generation = z.string().transform((value, context): GenerationId => {
  if (isGenerationId(value)) return value;
  context.addIssue({ code: "custom", message: "is not a generation" });
  return z.NEVER;
});
const status = z.enum(["open", "completed", "failed", "cancelled"]);
const time = z.iso.datetime();

/** Which generations; newest first. Every field narrows. */
export const auditSearchSchema = z.object({
  tenant,
  /** Created at or after, and before. ISO 8601, UTC. */
  from: time.optional(),
  to: time.optional(),
  model: z.string().optional(),
  status: status.optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  subject: z.string().optional(),
  limit: z.int().min(1).max(1_000).default(100),
  /** `next` of the page before. */
  after: z.string().optional(),
});
export type AuditSearch = z.infer<typeof auditSearchSchema>;

/** One generation as a list shows it: nothing here was ever encrypted, so an erased one is still listed. */
export const auditGenerationSchema = z.object({
  id: z.string(),
  object: z.literal("audit.generation"),
  created_at: z.string(),
  model: z.string(),
  status,
  /** Number of events of the log, as far as it is archived. */
  events: z.int(),
  last_at: z.string(),
  /** When its keys were destroyed. */
  erased_at: z.string().optional(),
});
export type AuditGeneration = z.infer<typeof auditGenerationSchema>;

export interface AuditSearchPage {
  readonly object: "list";
  readonly data: readonly AuditGeneration[];
  /** Undefined on the last page. */
  readonly next?: string;
}

export const auditRecordRequestSchema = z.object({ tenant, generation });
export type AuditRecordRequest = z.infer<typeof auditRecordRequestSchema>;

/** All that is kept about a generation, save its events. */
export interface AuditRecord extends AuditGeneration {
  /** Events that each connection was sent, as `DeliveryMark`s. */
  readonly readers: readonly unknown[];
  /** The last verdict. */
  readonly verdict?: unknown;
  /** Recorded accesses to it here. */
  readonly accesses: readonly unknown[];
  /** Where it lies in the tenant's tree: leaf hashes, hex. */
  readonly segments: readonly {
    readonly leaf: string;
    readonly first_seq: Seq;
    readonly last_seq: Seq;
  }[];
}

export const auditEventsRequestSchema = z.object({
  tenant,
  generation,
  from_seq: z.int().min(0).brand<"Seq">(),
  max_bytes: z.int().min(1).max(524_288),
  /** Text as it was generated, and seq 0 too. Else as a reader that comes now would see it. */
  original: z.boolean().default(false),
});
export type AuditEventsRequest = z.infer<typeof auditEventsRequestSchema>;

/* An answer to `events` is lines of `<cursor> <milliseconds since 1970> <payload>` LF, of consecutive events; no lines if no events follow. */
