import { parseTenantId } from "@reprise/protocol";
import { createApiKey } from "../keys/create-api-key.ts";
import { ROLES } from "../records/roles.ts";

export interface DevTenant {
  readonly tenant: "demo";
  /** The API key, `rk_demo_…`, for the user that started the platform. */
  readonly secret: string;
  /** The text of a tenants file with this one tenant. It holds the key's hash, not the key. */
  readonly file: string;
}

/**
 * The tenant that `npm start` makes when none are configured: one key with every role.
 * @param random at least 16 uniformly random bytes, all of which go into the key
 */
export function createDevTenant(random: Uint8Array): DevTenant {
  const { secret, sha256 } = createApiKey(parseTenantId("demo"), random);
  const file = { tenants: [{ id: "demo", keys: [{ sha256, roles: ROLES }] }] };
  return { tenant: "demo", secret, file: `${JSON.stringify(file, null, 2)}\n` };
}
