import type { RepriseError, TenantId } from "@reprise/protocol";
import type { Logger } from "@reprise/service";

/** Logs a record that can't be used, as an error: the tenant goes on with what it had, and an operator has to look. */
export function reportRefusedRecord(logger: Logger): (tenant: TenantId, error: RepriseError) => void {
  return (tenant, { message }) =>
    logger.error({ tenant, problem: message }, "a tenant's record can't be used: the last good one stays");
}
