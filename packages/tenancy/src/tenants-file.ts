import { parseTenantId, type Policy, type RepriseError, type TenantId } from "@reprise/protocol";
import { parseConfigFile, readConfigFile } from "@reprise/service";
import * as z from "zod";
import { hashKey } from "./key-hash.ts";
import { tenantPolicySchema } from "./tenant-policy.ts";

/**
 * What a key may be used for. `create` starts generations, `read` follows them, `cancel` ends them early, `tool` answers their
 * tool calls, `review` decides what moderation has left to people, and sees original text for it, `audit` reads what the audit log
 * keeps, long after the logs are gone.
 */
export const ROLES = ["create", "read", "cancel", "tool", "review", "audit"] as const;
export type Role = (typeof ROLES)[number];

export interface TenantKey {
  /** The lower-case hex SHA-256 of the secret; the secret itself is never kept. */
  readonly sha256: string;
  readonly roles: ReadonlySet<Role>;
  /** Who stands in a log for what was done with the key: `name` in the file, or the first 12 characters of the hash. */
  readonly holder: string;
}

/** How long the audit log keeps what a tenant has had generated, in whole days. */
export interface AuditRetention {
  /** Nothing is erased before, not even on request. Default 0. */
  readonly minDays: number;
  /** Everything is deleted after. Default: never. */
  readonly maxDays?: number;
}

export interface TenantConfig {
  readonly id: TenantId;
  readonly keys: readonly TenantKey[];
  readonly policy: Policy;
  readonly audit: AuditRetention;
}

export interface TenancyConfig {
  readonly tenants: readonly TenantConfig[];
}

/** Too long to be guessed. */
const MIN_SECRET_CHARS = 16;
const MAX_SECRET_CHARS = 256;
const MAX_TENANTS = 10_000;
const MAX_KEYS = 100;

/** Logs have it as the reviewer where the policy has decided. */
const NO_HOLDER = "timeout";
const HASH_CHARS_SHOWN = 12;

const roles = z
  .array(z.enum(ROLES))
  .min(1)
  .refine((list) => new Set(list).size === list.length, "names a role twice");

/** Visible ASCII only: that is what fits into an `Authorization` header. */
const secret = z
  .string()
  .min(MIN_SECRET_CHARS)
  .max(MAX_SECRET_CHARS)
  .regex(/^[\x21-\x7e]*$/, "must hold visible ASCII characters only");

const holder = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -")
  .refine((name) => name !== NO_HOLDER, `must not be "${NO_HOLDER}"`);

const keySchema = z
  .strictObject({
    name: holder.optional(),
    secret: secret.optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, "must be the lower-case hex SHA-256 of the secret, 64 characters")
      .optional(),
    roles,
  })
  .refine(
    (key) => (key.secret === undefined) !== (key.sha256 === undefined),
    "must have one of secret and sha256",
  )
  .transform((key): TenantKey => {
    const sha256 = key.sha256 ?? hashKey(key.secret ?? "");
    return { sha256, roles: new Set(key.roles), holder: key.name ?? sha256.slice(0, HASH_CHARS_SHOWN) };
  });

const tenantIdSchema = z.string().transform((id, context): TenantId => {
  try {
    return parseTenantId(id);
  } catch (error) {
    context.issues.push({ code: "custom", message: (error as RepriseError).message, input: id });
    return z.NEVER;
  }
});

const auditSchema = z
  .strictObject({ min_days: z.int().min(0).optional(), max_days: z.int().min(1).optional() })
  .refine(({ min_days: min = 0, max_days: max = min }) => min <= max, {
    error: "must not be less than min_days",
    path: ["max_days"],
  })
  .transform(({ min_days: minDays = 0, max_days: maxDays }): AuditRetention => {
    return { minDays, ...(maxDays !== undefined && { maxDays }) };
  });

const tenantSchema = z.strictObject({
  id: tenantIdSchema,
  keys: z.array(keySchema).min(1).max(MAX_KEYS),
  policy: tenantPolicySchema.default({}),
  audit: auditSchema.prefault({}),
});

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
