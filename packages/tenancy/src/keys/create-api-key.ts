import { hash } from "node:crypto";
import type { TenantId } from "@reprise/protocol";

/** An API key in the one moment in which its secret is known. */
export interface NewKey {
  /** `rk_<tenant>_<random>`. */
  readonly secret: string;
  readonly sha256: string;
  /** Beginning of the secret, by which people find a key: 24 of its 192 random bits. */
  readonly prefix: string;
}

const MIN_RANDOM_BYTES = 16;
const PREFIX_CHARS = 4;

/** @param random at least 16 uniformly random bytes, all of which go into the key */
export function createApiKey(tenant: TenantId, random: Uint8Array): NewKey {
  const start = `rk_${tenant}_`;
  const secret = `${start}${encodeRandom(random)}`;
  return { secret, sha256: hashKey(secret), prefix: secret.slice(0, start.length + PREFIX_CHARS) };
}

/** `ro_<random>`: what administers all tenants. */
export function createOperatorKey(random: Uint8Array): string {
  return `ro_${encodeRandom(random)}`;
}

function encodeRandom(random: Uint8Array): string {
  if (random.length >= MIN_RANDOM_BYTES) return Buffer.from(random).toString("base64url");
  throw new TypeError(`a key needs ${MIN_RANDOM_BYTES} random bytes, got ${random.length}`);
}

/**
 * The lower-case hex SHA-256 of an API key. A plain hash is enough: keys are long and random, so there is nothing to guess,
 * and a slow hash would have to run for every request.
 */
export function hashKey(secret: string): string {
  return hash("sha256", secret, "hex");
}
