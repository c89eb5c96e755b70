import { readFile } from "node:fs/promises";
import { parseTenantId, policySchema, RepriseError, type TenantId } from "@reprise/protocol";
import type { Policy } from "@reprise/protocol";
import * as z from "zod";
import { hashKey } from "./key-hash.ts";

/**
 * What a key may be used for. `create` starts generations, `read` follows them, `cancel` ends them early, `tool` answers their
 * tool calls.
 */
export const ROLES = ["create", "read", "cancel", "tool"] as const;
export type Role = (typeof ROLES)[number];

export interface TenantKey {
  /** The lower-case hex SHA-256 of the secret; the secret itself is never kept. */
  readonly sha256: string;
  readonly roles: ReadonlySet<Role>;
}

export interface TenantConfig {
  readonly id: TenantId;
  readonly keys: readonly TenantKey[];
  readonly policy: Policy;
}

export interface TenancyConfig {
  readonly tenants: readonly TenantConfig[];
}

/** Long enough that nobody guesses it. */
const MIN_SECRET_CHARS = 16;
const MAX_SECRET_CHARS = 256;
const MAX_TENANTS = 10_000;
const MAX_KEYS = 100;

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

const keySchema = z
  .strictObject({
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
  .transform((key): TenantKey => ({
    sha256: key.sha256 ?? hashKey(key.secret ?? ""),
    roles: new Set(key.roles),
  }));

const tenantIdSchema = z.string().transform((id, context): TenantId => {
  try {
    return parseTenantId(id);
  } catch (error) {
    context.issues.push({ code: "custom", message: (error as RepriseError).message, input: id });
    return z.NEVER;
  }
});

const tenantSchema = z.strictObject({
  id: tenantIdSchema,
  keys: z.array(keySchema).min(1).max(MAX_KEYS),
  policy: policySchema.default({}),
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
    for (const [k, { sha256 }] of tenant.keys.entries()) {
      if (keys.has(sha256))
        context.addIssue({
          code: "custom",
          path: ["tenants", t, "keys", k],
          message: "is the same key as an earlier one",
        });
      keys.add(sha256);
    }
  }
}

/**
 * Parses the text of a tenants file (DESIGN.md §3.4).
 * @param source what to call the file in messages
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a secret
 */
export function parseTenantsFile(text: string, source: string): TenancyConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which holds secrets.
    throw new RepriseError("config_invalid", `${source} is not JSON.`, { param: source });
  }
  const result = fileSchema.safeParse(json);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `  ${toPath(path)}: ${message}`);
  throw new RepriseError("config_invalid", `${source} is wrong:\n${problems.join("\n")}`, { param: source });
}

/** @throws RepriseError `config_invalid`, when the file can't be read too */
export async function loadTenantsFile(path: string): Promise<TenancyConfig> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new RepriseError("config_invalid", `${path} can't be read: ${(error as Error).message}`, {
      param: path,
      cause: error,
    });
  }
  return parseTenantsFile(text, path);
}

/** `tenants[0].keys[1].roles`, as one would write it in a program. */
function toPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the file";
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`))
    .join("");
}
