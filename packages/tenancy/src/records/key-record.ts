import * as z from "zod";
import { rolesSchema } from "./roles.ts";

/** Other names in logs: the policy that has decided in place of a reviewer, the operator, and the bearers of stream tokens. */
const OTHER_HOLDERS = /^(timeout|operator|token\..*)$/;
const HASH_CHARS_SHOWN = 12;
const HASH_CHARS_IN_ID = 16;

export const MAX_KEYS = 100;

/** A time as records have it: ISO 8601, UTC. */
export const timeSchema = z.iso.datetime();

export const keyNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -")
  .refine(
    (name) => !OTHER_HOLDERS.test(name),
    'must not be "timeout" or "operator", nor begin with "token."',
  );

export const sha256Schema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be the lower-case hex SHA-256 of the secret, 64 characters");

/** An API key as the tenant's record keeps it: never the secret. */
export const keyRecordSchema = z.strictObject({
  /** Name in the log for actions with the key; unique within the tenant. */
  name: keyNameSchema,
  sha256: sha256Schema,
  /** Beginning of the secret, by which people find a key; absent if the platform did not make the secret. */
  prefix: z.string().max(128).optional(),
  roles: rolesSchema,
  created_at: timeSchema,
  /** The key is refused from then on. Absent: never. */
  expires_at: timeSchema.optional(),
});

export type KeyRecord = z.infer<typeof keyRecordSchema>;

/** Returns the id of a key in the API and in logs. It follows from the hash, so that all nodes give one key the same id. */
export function keyIdOf(sha256: string): string {
  return `key_${sha256.slice(0, HASH_CHARS_IN_ID)}`;
}

/** The name of a key that was given none. */
export function defaultKeyName(sha256: string): string {
  return sha256.slice(0, HASH_CHARS_SHOWN);
}
