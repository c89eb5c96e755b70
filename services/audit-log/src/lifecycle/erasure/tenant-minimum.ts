import type { Broker } from "@reprise/broker";
import { RepriseError, type TenantId } from "@reprise/protocol";
import { followTenants, loadTenantsFile } from "@reprise/tenancy";

export interface MinimumSources {
  /** Has the tenants of the platform: what it says counts. */
  readonly broker: Broker | undefined;
  /** The tenants file, for tenants that the broker does not have, and where there is no broker. */
  readonly file: string | undefined;
}

/**
 * For how many days a tenant must keep everything, as the audit log itself learns it.
 * @throws RepriseError `erasure_refused` when it is not known, `config_invalid`, `broker_unavailable`
 */
export async function minDaysOf(tenant: TenantId, { broker, file }: MinimumSources): Promise<number> {
  const audit =
    (broker && (await fromBroker(tenant, broker))) ??
    (file === undefined
      ? undefined
      : (await loadTenantsFile(file)).tenants.find(({ id }) => id === tenant)?.audit);
  if (audit) return audit.minDays;
  throw unknown(
    `neither the broker nor a tenants file says it of tenant "${tenant}": name them with --nats and --tenants-file`,
  );
}

async function fromBroker(tenant: TenantId, broker: Broker) {
  let refused: RepriseError | undefined;
  const onRefused = (id: TenantId, error: RepriseError) => {
    if (id === tenant) refused = error;
  };
  await using directory = await followTenants({ broker, onRefused });
  // If a record can't be used, the file's older or lower minimum must not replace it.
  if (refused) throw unknown(`the broker's record of tenant "${tenant}" can't be used`, refused);
  return directory.find(tenant)?.audit;
}

function unknown(why: string, cause?: RepriseError): RepriseError {
  const message = `The time for which the tenant must keep everything is not known: ${why}, or erase with --despite-minimum.`;
  return new RepriseError("erasure_refused", message, { cause });
}
