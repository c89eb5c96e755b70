import type { TenantId } from "@reprise/protocol";
import { parseConfigFile, readConfigFile } from "@reprise/runtime";
import * as z from "zod";
import { hashKey } from "../keys/create-api-key.ts";
import { keyNameSchema, MAX_KEYS, sha256Schema, timeSchema } from "../records/key-record.ts";
import { rolesSchema } from "../records/roles.ts";
import { type TenantConfig, type TenantKey, toTenant, toTenantKey } from "../records/tenant.ts";
import { tenantIdSchema, tenantSettings, usableOriginsSchema } from "../records/tenant-record.ts";
import { usablePolicySchema } from "./usable-policy.ts";
import { MAX_SIGNING_KEYS, signingKeySchema } from "../records/token-records.ts";
import { ownKeyIdSchema } from "../tokens/claims.ts";
import { publicJwkSchema, toPublicKey } from "../tokens/signing-key.ts";

export interface TenancyConfig {
  readonly tenants: readonly TenantConfig[];
}

/** Too long to be guessed. */
const MIN_SECRET_CHARS = 16;
const MAX_SECRET_CHARS = 256;
const MAX_TENANTS = 10_000;

/** Visible ASCII only: that is what fits into an `Authorization` header. */
const secret = z
  .string()
  .min(MIN_SECRET_CHARS)
  .max(MAX_SECRET_CHARS)
  .regex(/^[\x21-\x7e]*$/, "must hold visible ASCII characters only");

const keySchema = z
  .strictObject({
    name: keyNameSchema.optional(),
    secret: secret.optional(),
    sha256: sha256Schema.optional(),
    roles: rolesSchema,
    expires_at: timeSchema.optional(),
  })
  .refine(
    (key) => (key.secret === undefined) !== (key.sha256 === undefined),
    "must have one of secret and sha256",
  )
  .transform(({ secret: text, sha256, ...key }): TenantKey => {
    return toTenantKey({ ...key, sha256: sha256 ?? hashKey(text ?? "") });
  });

const tenantSchema = z
  .strictObject({
    id: tenantIdSchema,
    keys: z.array(keySchema).min(1).max(MAX_KEYS),
    ...tenantSettings,
    policy: usablePolicySchema.default({}),
    cors_origins: usableOriginsSchema.optional(),
    signing_keys: z
      .array(
        signingKeySchema.extend({ kid: ownKeyIdSchema, public_jwk: publicJwkSchema.transform(toPublicKey) }),
      )
      .max(MAX_SIGNING_KEYS)
      .default([]),
  })
  .transform(({ keys, ...rest }): TenantConfig => ({ ...toTenant({ ...rest, keys: [] }), keys }));

const fileSchema = z
  .strictObject({ tenants: z.array(tenantSchema).min(1).max(MAX_TENANTS) })
  .superRefine(refuseDuplicates);

function refuseDuplicates({ tenants }: TenancyConfig, context: z.RefinementCtx): void {
  const ids = new Set<TenantId>();
  const keys = new Set<string>();
  for (const [t, tenant] of tenants.entries()) {
    if (ids.has(tenant.id))
      context.addIssue({
        code: "custom",
        path: ["tenants", t, "id"],
        message: `"${tenant.id}" is there twice`,
      });
    ids.add(tenant.id);
    const holders = new Set<string>();
    for (const [k, { sha256, holder: name }] of tenant.keys.entries()) {
      if (keys.has(sha256))
        context.addIssue({
          code: "custom",
          path: ["tenants", t, "keys", k],
          message: "is the same key as an earlier one",
        });
      else if (holders.has(name))
        context.addIssue({
          code: "custom",
          path: ["tenants", t, "keys", k, "name"],
          message: `"${name}" is there twice`,
        });
      keys.add(sha256);
      holders.add(name);
    }
  }
}

/**
 * Parses the text of a tenants file.
 * @param source what to call the file in messages
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a secret
 */
export function parseTenantsFile(text: string, source: string): TenancyConfig {
  return parseConfigFile(text, { source, schema: fileSchema, isSecret: true });
}

/** @throws RepriseError `config_invalid`, when the file can't be read too */
export async function loadTenantsFile(path: string): Promise<TenancyConfig> {
  return parseTenantsFile(await readConfigFile(path), path);
}
