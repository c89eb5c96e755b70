import { type AddressClass, parseTenantId, RepriseError, type TenantId } from "@reprise/protocol";
import type { AnalyticsClient, Broker } from "@reprise/broker";
import type { GenerationLog } from "@reprise/stream";
import type { Logger } from "@reprise/runtime";
import { type PlatformKeys, type TenantRecord, tenantNotFound } from "@reprise/tenancy";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Administrator, type Authentication, onlyOperator } from "../http/auth.ts";
import type { RequestBudgets } from "../limits/request-budgets.ts";
import { addressClassOf } from "../readers/delivery-marks/address-class.ts";
import type { RuleChecks } from "../review/rule-checks.ts";
import type { Administration } from "./administration.ts";
import { parseIfMatch, toETag } from "./etag.ts";
import { recordChange, type RecordedChange } from "./record-change.ts";

/** Ports of the admin API. */
export interface AdminContext {
  readonly administration: Administration;
  readonly authentication: Pick<Authentication, "administratorOf">;
  readonly platformKeys: Pick<PlatformKeys, "list" | "rotate">;
  readonly log: Pick<GenerationLog, "publish">;
  readonly reads: Broker["reads"];
  readonly analytics: AnalyticsClient;
  readonly budgets: Pick<RequestBudgets, "ledger">;
  readonly ruleChecks: Pick<RuleChecks, "checkPolicy">;
  /** The classifiers that rules may name; undefined if this node does not know them. */
  readonly classifiers: () => ReadonlySet<string> | undefined;
  readonly logger: Logger;
}

/** One call of the admin API: who makes it, and what it may be about. */
export interface AdminCall {
  readonly administrator: Administrator;
  readonly address: AddressClass;
  readonly request: string;
  /**
   * @param does what only the operator does, for the error
   * @throws RepriseError `forbidden`
   */
  assertOperator(does: string): void;
  /** @throws RepriseError `tenant_not_found`, also for a tenant that exists and that the caller does not administer */
  tenantOf(id: string): TenantId;
}

/** @throws RepriseError `tenants_read_only` for a change where the tenants file owns the tenants */
export function openCall(
  { authentication, administration }: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { isChange = false } = {},
): AdminCall {
  // Names of keys and tenants, and once a secret: nothing of it is to be kept on the way.
  void reply.header("cache-control", "no-store");
  if (isChange && administration.isReadOnly) throw readOnly();
  const administrator = authentication.administratorOf(request);
  return {
    administrator,
    address: addressClassOf(request.clientAddress),
    request: request.id,
    assertOperator(does) {
      if (administrator.tenant === undefined) return;
      throw onlyOperator(does);
    },
    tenantOf(id) {
      const tenant = parseTenantId(id);
      if (administrator.tenant === undefined || administrator.tenant === tenant) return tenant;
      throw tenantNotFound();
    },
  };
}

/** @throws RepriseError `tenant_not_found` */
export async function readTenant({ administration: { store } }: AdminContext, tenant: TenantId) {
  const stored = await store.read(tenant);
  if (stored) return stored;
  throw tenantNotFound();
}

/** Changes a tenant's record, records it, and answers when this node obeys it; the others do within a second. */
export async function changeTenant(
  { administration: { store, directory }, log, logger }: AdminContext,
  request: FastifyRequest,
  change: RecordedChange,
  next: (present: TenantRecord) => TenantRecord,
) {
  const ifRevision = parseIfMatch(request.headers["if-match"]);
  const stored = await recordChange({ publish: log.publish, logger }, change, async () => {
    let before: TenantRecord | undefined;
    const result = await store.update(change.tenant, (present) => next((before = present)), { ifRevision });
    return { before, after: result.record, result };
  });
  await directory.sync();
  return stored;
}

export function sendTenant<T>(reply: FastifyReply, revision: number, view: T): T {
  void reply.header("etag", toETag(revision));
  return view;
}

function readOnly(): RepriseError {
  return new RepriseError(
    "tenants_read_only",
    "The tenants file owns the tenants (REPRISE_TENANTS_SOURCE=file): change the file, and send SIGHUP.",
  );
}
