import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { timeSchema } from "../records/key-record.ts";
import type { TenantRecord } from "../records/tenant-record.ts";
import { MAX_SIGNING_KEYS, type SigningKey } from "../records/token-records.ts";
import { ownKeyIdSchema } from "../tokens/claims.ts";
import { publicJwkSchema, toPublicKey } from "../tokens/signing-key.ts";
import { assertFuture, endingBy, overlapSchema } from "./change-tenant.ts";

/*
 * The keys with which a tenant signs stream tokens: their public parts. As in `change-tenant.ts`, each change is a function of the present
 * record. Several are valid at once, so that a backend changes over to a new one while tokens of the old one still count.
 */

const fields = {
  kid: ownKeyIdSchema,
  public_jwk: publicJwkSchema,
  expires_at: timeSchema.optional(),
};
const namesOneKey = ({ kid, public_jwk }: { kid: string; public_jwk: { kid?: string | undefined } }) =>
  public_jwk.kid === undefined || public_jwk.kid === kid;
const OTHER_KID = { error: "must be the kid of the registration, or absent", path: ["public_jwk", "kid"] };

export const newSigningKeySchema = z.strictObject(fields).refine(namesOneKey, OTHER_KID);
export type NewSigningKey = z.infer<typeof newSigningKeySchema>;

export const signingKeyRotationSchema = z
  .strictObject({ ...fields, overlap_seconds: overlapSchema })
  .refine(namesOneKey, OTHER_KID);
export type SigningKeyRotation = z.infer<typeof signingKeyRotationSchema>;

/** @throws RepriseError `invalid_request` when the id is taken, the key has expired, or there are as many as there can be */
export function withSigningKey(present: TenantRecord, wanted: NewSigningKey, now: Date): TenantRecord {
  const made = toRecord(wanted, now);
  if (present.signing_keys.some((key) => isSame(key, made))) return present;
  assertFuture(wanted, now);
  const keys = unexpired(present, now);
  return { ...present, signing_keys: [...keys, admitted(made, keys)] };
}

/**
 * A new key; the old one expires after the overlap, unless it does so before.
 * @throws RepriseError `key_not_found`, also for an old key that has expired; else as `withSigningKey`
 */
export function withRotatedSigningKey(
  present: TenantRecord,
  { kid, rotation, now }: { kid: string; rotation: SigningKeyRotation; now: Date },
): TenantRecord {
  const made = toRecord(rotation, now);
  if (present.signing_keys.some((key) => isSame(key, made))) return present;
  assertFuture(rotation, now);
  const keys = unexpired(present, now);
  const old = findSigningKey({ signing_keys: keys }, kid);
  const ending = keys.map((key) => (key === old ? endingBy(key, rotation, now) : key));
  return { ...present, signing_keys: [...ending, admitted(made, keys)] };
}

/** @throws RepriseError `key_not_found` */
export function withoutSigningKey(present: TenantRecord, kid: string): TenantRecord {
  const removed = findSigningKey(present, kid);
  return { ...present, signing_keys: present.signing_keys.filter((key) => key !== removed) };
}

/** @throws RepriseError `key_not_found` */
export function findSigningKey(
  { signing_keys }: Pick<TenantRecord, "signing_keys">,
  kid: string,
): SigningKey {
  const key = signing_keys.find((each) => each.kid === kid);
  if (key) return key;
  throw new RepriseError("key_not_found", "The tenant has no signing key with this id.", { param: "key" });
}

function toRecord({ kid, public_jwk, expires_at }: NewSigningKey, now: Date): SigningKey {
  const created_at = now.toISOString();
  return {
    kid,
    public_jwk: toPublicKey(public_jwk),
    created_at,
    ...(expires_at !== undefined && { expires_at }),
  };
}

function isSame(key: SigningKey, made: SigningKey): boolean {
  return key.kid === made.kid && key.public_jwk.x === made.public_jwk.x && key.created_at === made.created_at;
}

/** No token needs those that have expired, and they would fill the record. */
function unexpired({ signing_keys }: TenantRecord, now: Date): SigningKey[] {
  return signing_keys.filter(
    ({ expires_at }) => expires_at === undefined || Date.parse(expires_at) > now.getTime(),
  );
}

function admitted(made: SigningKey, keys: readonly SigningKey[]): SigningKey {
  if (keys.some(({ kid }) => kid === made.kid)) {
    const message = `kid: the tenant has a signing key "${made.kid}" already.`;
    throw new RepriseError("invalid_request", message, { param: "kid" });
  }
  if (keys.length < MAX_SIGNING_KEYS) return made;
  const message = `The tenant has ${keys.length} signing keys, which is the most: remove one.`;
  throw new RepriseError("invalid_request", message, { param: "signing_keys" });
}
