import type { RepriseError, TenantId } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";

/** Logs a record that cannot be used, as an error: the tenant keeps its earlier record, and an operator has to look. */
export function reportRefusedRecord(logger: Logger): (tenant: TenantId, error: RepriseError) => void {
  return (tenant, { message }) =>
    logger.error({ tenant, problem: message }, "a tenant's record can't be used: the last good one stays");
}
