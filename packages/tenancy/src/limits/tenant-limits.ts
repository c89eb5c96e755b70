import { hash } from "node:crypto";
import * as z from "zod";
import type { LimitCheck } from "./counters.ts";
import { LEASE_TTL_MS } from "./held-leases.ts";

const quota = z.int().min(1).max(1_000_000_000_000);
/** Bytes that a worker may hold in memory for an engine at a time. */
const MAX_BLOB_BYTES = 536_870_912;

/** Limits. One that is left out does not exist. */
const scopeSchema = z.strictObject({
  /** Calls of the API. */
  requests_per_minute: quota.optional(),
  /** Bytes of the bodies of calls, but for uploads: with how long logs and conversations are kept it bounds what clients have stored there. */
  request_bytes_per_minute: quota.optional(),
  /** Streams and long-polls that are opened. */
  attaches_per_minute: quota.optional(),
  /** Tokens of generations: `max_output_tokens` when one is created, what was really used when it has ended. */
  tokens_per_minute: quota.optional(),
  /** Bytes of events that are replayed to readers, from before they came. */
  replay_bytes_per_minute: quota.optional(),
  /** Generations that have not ended. */
  generations: quota.optional(),
  /** Streams that are open. */
  readers: quota.optional(),
});

/**
 * A tenant's limits, over all nodes: of the whole tenant, and of each of its API keys (stream tokens have none), of its end users, and of the addresses that its calls
 * come from.
 */
export const tenantLimitsSchema = z.strictObject({
  tenant: scopeSchema.optional(),
  key: scopeSchema.optional(),
  end_user: scopeSchema.optional(),
  address: scopeSchema.optional(),
  /** Limits of blobs, counted by their records in the broker. Each absent one is that of `BLOB_LIMITS`. */
  blobs: z
    .strictObject({
      /** Bytes of one blob. */
      blob_bytes: quota.max(MAX_BLOB_BYTES).optional(),
      /** Bytes of all blobs of the tenant, unfinished uploads included. */
      bytes: quota.optional(),
    })
    .optional(),
});
export type TenantLimits = z.infer<typeof tenantLimitsSchema>;
type Scope = (typeof SCOPES)[number];
type ScopeLimits = z.infer<typeof scopeSchema>;

/** Who a call is counted for. Free text is hashed before it becomes a key. */
export interface LimitSubject {
  readonly tenant: string;
  /** The API key; undefined for a stream token. */
  readonly keyId?: string | undefined;
  readonly endUser?: string | undefined;
  /** Undefined for a generation of the platform's own. */
  readonly address?: string | undefined;
}

/** Units that a call takes. */
export interface LimitUse {
  readonly requests?: number;
  readonly requestBytes?: number;
  readonly attaches?: number;
  readonly tokens?: number;
  readonly replayBytes?: number;
  /** The generation that the call creates. */
  readonly generation?: string;
  /** The stream that the call opens, by a name that no other has. */
  readonly reader?: string;
}

const SCOPES = ["tenant", "key", "end_user", "address"] as const satisfies readonly (keyof TenantLimits)[];
const WINDOW_MS = 60_000;
const HASH_CHARS = 22;

const RATES = [
  ["requests_per_minute", "requests"],
  ["request_bytes_per_minute", "requestBytes"],
  ["attaches_per_minute", "attaches"],
  ["tokens_per_minute", "tokens"],
  ["replay_bytes_per_minute", "replayBytes"],
] as const satisfies readonly (readonly [keyof ScopeLimits, keyof LimitUse])[];

const LEASES = [
  ["generations", "generation"],
  ["readers", "reader"],
] as const satisfies readonly (readonly [keyof ScopeLimits, keyof LimitUse])[];

/** The checks that a use needs, named `<scope>.<limit>`; none where nothing is limited. */
export function toLimitChecks(
  limits: TenantLimits,
  subject: LimitSubject,
  use: LimitUse,
): readonly LimitCheck[] {
  return SCOPES.flatMap((scope) => {
    const limited = limits[scope];
    const whose = ofScope(scope, subject);
    if (!limited || whose === undefined) return [];
    const named = (name: string) => ({
      name: `${scope}.${name}`,
      key: `{${subject.tenant}}.${scope}.${name}.${whose}`,
    });
    const rates = RATES.flatMap(([name, field]): LimitCheck[] => {
      const limit = limited[name];
      const cost = use[field];
      if (limit === undefined || cost === undefined) return [];
      return [{ kind: "rate", ...named(name), limit, windowMs: WINDOW_MS, cost }];
    });
    const leases = LEASES.flatMap(([name, field]): LimitCheck[] => {
      const limit = limited[name];
      const member = use[field];
      if (limit === undefined || member === undefined) return [];
      return [{ kind: "lease", ...named(name), limit, member, ttlMs: LEASE_TTL_MS }];
    });
    return [...rates, ...leases];
  });
}

function ofScope(scope: Scope, { keyId, endUser, address }: LimitSubject): string | undefined {
  switch (scope) {
    case "tenant":
      return "all";
    case "key":
      return keyId;
    case "end_user":
      return endUser === undefined ? undefined : hash("sha256", endUser, "base64url").slice(0, HASH_CHARS);
    case "address":
      return address === undefined ? undefined : hash("sha256", address, "base64url").slice(0, HASH_CHARS);
  }
}
