import { parseTenantId, policySchema, type RepriseError, type TenantId } from "@reprise/protocol";
import { modelName, parseConfigFile } from "@reprise/runtime";
import * as z from "zod";
import { budgetsSchema } from "../budgets/budget-settings.ts";
import { conversationSettingsSchema } from "./conversation-settings.ts";
import { keyRecordSchema, MAX_KEYS, timeSchema } from "./key-record.ts";
import { tenantLimitsSchema } from "../limits/tenant-limits.ts";
import { MAX_REVOCATIONS, MAX_SIGNING_KEYS, revocationSchema, signingKeySchema } from "./token-records.ts";

/*
 * A tenant as the bucket keeps it, one JSON object per tenant, and as the admin API shows it, without the hashes. Fields and values that
 * this version does not know are refused: a process must not admit a request by a record that it half understands.
 */

export const RECORD_VERSION = 1;
const MAX_MODELS = 1_000;
const MAX_ORIGINS = 100;

export const tenantIdSchema = z.string().transform((id, context): TenantId => {
  try {
    return parseTenantId(id);
  } catch (error) {
    context.issues.push({ code: "custom", message: (error as RepriseError).message, input: id });
    return z.NEVER;
  }
});

/** Content and duration of a tenant's audit log, in whole days. */
const auditSchema = z
  .strictObject({
    /** Nothing is erased before, not even on request. Default 0. */
    min_days: z.int().min(0).optional(),
    /** Everything is deleted after. Default: never. */
    max_days: z.int().min(1).optional(),
    /** Blobs in the archive: their hashes, or their bytes too. Default `hash`. */
    blobs: z.enum(["hash", "content"]).optional(),
  })
  .refine(({ min_days: min = 0, max_days: max = min }) => min <= max, {
    error: "must not be less than min_days",
    path: ["max_days"],
  });

const modelsSchema = z.array(modelName).min(1).max(MAX_MODELS);
const originsSchema = z
  .array(
    z
      .string()
      .refine(
        (text) => /^https?:/.test(text) && URL.parse(text)?.origin === text,
        "must be an origin such as https://app.example",
      ),
  )
  .max(MAX_ORIGINS);

const MAX_WEIGHT = 1_000;
const MAX_SLOTS = 1_000_000;

/** The tenant's share of each model's slots. */
const slotsSchema = z.strictObject({
  /** Slots that it gets for each slot of a tenant with weight 1, while both want more. Default 1. */
  weight: z.int().min(1).max(MAX_WEIGHT).optional(),
  /** The most slots of a model that it has at a time, over all workers. Default: no limit. */
  max: z.int().min(1).max(MAX_SLOTS).optional(),
});
export type TenantSlots = z.infer<typeof slotsSchema>;

/** Settings of a tenant that an administrator may change in one call; keys, signing keys and revocations have calls of their own. */
export const tenantSettings = {
  /** Its rules are checked once, by the process that takes them in: each process that follows tenants reads all of them. */
  policy: policySchema.default({}),
  audit: auditSchema.default({}),
  /** The models that requests may name. Absent: all. */
  models: modelsSchema.optional(),
  /** Absent: none. */
  limits: tenantLimitsSchema.optional(),
  /** Absent: as other tenants without a limit. */
  slots: slotsSchema.optional(),
  /** Absent: none. */
  budgets: budgetsSchema.optional(),
  /** Absent: as `CONVERSATION_LIMITS` has it. */
  conversations: conversationSettingsSchema.optional(),
  /** The origins whose pages may call the API for this tenant. Absent: those of `REPRISE_CORS_ORIGINS`. */
  cors_origins: originsSchema.optional(),
};

export const tenantRecordSchema = z
  .strictObject({
    version: z.literal(RECORD_VERSION, `must be ${RECORD_VERSION}, the version that this process reads`),
    id: tenantIdSchema,
    created_at: timeSchema,
    ...tenantSettings,
    keys: z.array(keyRecordSchema).max(MAX_KEYS),
    signing_keys: z.array(signingKeySchema).max(MAX_SIGNING_KEYS).default([]),
    revocations: z.array(revocationSchema).max(MAX_REVOCATIONS).default([]),
  })
  .superRefine(({ keys, signing_keys: signingKeys }, context) => {
    refuseTwice(
      context,
      "keys",
      "sha256",
      keys.map(({ sha256 }) => sha256),
    );
    refuseTwice(
      context,
      "keys",
      "name",
      keys.map(({ name }) => name),
    );
    refuseTwice(
      context,
      "signing_keys",
      "kid",
      signingKeys.map(({ kid }) => kid),
    );
  });

export type TenantRecord = z.infer<typeof tenantRecordSchema>;

function refuseTwice(context: z.RefinementCtx, list: string, field: string, values: readonly string[]): void {
  for (const [i, value] of values.entries())
    if (values.indexOf(value) < i)
      context.addIssue({ code: "custom", path: [list, i, field], message: "is there twice" });
}

/**
 * Parses a stored record.
 * @param id the tenant under whose key it is stored
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a hash
 */
export function parseTenantRecord(json: string, id: TenantId): TenantRecord {
  const source = `the record of tenant "${id}"`;
  const schema = tenantRecordSchema.refine((record) => record.id === id, {
    path: ["id"],
    message: "is not the tenant that the record is stored for",
  });
  return parseConfigFile(json, { source, schema, isSecret: true });
}

/**
 * Checks origins that are set. A browser names one origin, as it is: one with a wildcard in it would match no page, while its operator takes it for one
 * that does. A record that has one already is read nevertheless.
 */
export const usableOriginsSchema = originsSchema.superRefine((origins, context) => {
  for (const [i, origin] of origins.entries()) {
    if (!origin.includes("*")) continue;
    const message =
      "must be one whole origin such as https://app.example: a wildcard matches no page, so list each origin";
    context.addIssue({ code: "custom", path: [i], message });
  }
});
