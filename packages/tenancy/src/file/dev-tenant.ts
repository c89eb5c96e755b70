import { hashKey } from "../keys/key-hash.ts";
import { ROLES } from "../records/roles.ts";

export interface DevTenant {
  readonly tenant: "demo";
  /** The API key, `rk_demo_…`, for the user that started the platform. */
  readonly secret: string;
  /** The text of a tenants file with this one tenant. It holds the key's hash, not the key. */
  readonly file: string;
}

const MIN_RANDOM_BYTES = 16;

/**
 * The tenant that `npm start` makes when none are configured: one key with every role.
 * @param random at least 16 uniformly random bytes, all of which go into the key
 */
export function createDevTenant(random: Uint8Array): DevTenant {
  if (random.length < MIN_RANDOM_BYTES)
    throw new TypeError(`a key needs ${MIN_RANDOM_BYTES} random bytes, got ${random.length}`);
  const secret = `rk_demo_${Buffer.from(random).toString("base64url")}`;
  const file = { tenants: [{ id: "demo", keys: [{ sha256: hashKey(secret), roles: ROLES }] }] };
  return { tenant: "demo", secret, file: `${JSON.stringify(file, null, 2)}\n` };
}
