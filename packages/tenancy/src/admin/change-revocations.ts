import { asUnixMs, END_USER_RULE, isEndUser, isGenerationId, RepriseError } from "@reprise/protocol";
import * as z from "zod";
import type { TenantRecord } from "../records/tenant-record.ts";
import { MAX_REVOCATIONS, type Revocation } from "../records/token-records.ts";
import { tokenIdSchema } from "../tokens/claims.ts";
import { forgettableAtMs } from "../tokens/revocations.ts";

/** Body of a revocation: one token by its `jti`, or all tokens of a generation or an end user issued until now. */
export const newRevocationSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("token"), value: tokenIdSchema }),
  z.strictObject({
    kind: z.literal("generation"),
    value: z.string().refine(isGenerationId, "is not the id of a generation"),
  }),
  z.strictObject({ kind: z.literal("user"), value: z.string().refine(isEndUser, END_USER_RULE) }),
]);
export type NewRevocation = z.infer<typeof newRevocationSchema>;

/**
 * Adds a revocation, in the place of an earlier one of the same tokens, and forgets those that no token needs any more.
 * @throws RepriseError `limit_exceeded`, with the time until one can be forgotten, when there are as many as there can be
 */
export function withRevocation(
  present: TenantRecord,
  { kind, value }: NewRevocation,
  now: Date,
): TenantRecord {
  const nowMs = asUnixMs(now.getTime());
  const needed = neededRevocations(present, now);
  const others = needed.filter((each) => each.kind !== kind || each.value !== value);
  if (others.length >= MAX_REVOCATIONS) throw tooMany(others, nowMs);
  const until = new Date(forgettableAtMs(nowMs)).toISOString();
  return { ...present, revocations: [...others, { kind, value, at: now.toISOString(), until }] };
}

/** The one of these tokens, which the record has. */
export function findRevocation(
  { revocations }: Pick<TenantRecord, "revocations">,
  { kind, value }: NewRevocation,
): Revocation {
  const found = revocations.find((each) => each.kind === kind && each.value === value);
  if (found) return found;
  throw new RepriseError("internal", "A revocation was stored without an entry.");
}

/** Those that may still concern a token. */
export function neededRevocations(
  { revocations }: Pick<TenantRecord, "revocations">,
  now: Date,
): Revocation[] {
  return revocations.filter(({ until }) => Date.parse(until) > now.getTime());
}

function tooMany(revocations: readonly Revocation[], nowMs: number): RepriseError {
  const firstEndMs = Math.min(...revocations.map(({ until }) => Date.parse(until)));
  const message = `The tenant has ${revocations.length} revocations, which is the most. Revoke by end user, or remove the signing key.`;
  return new RepriseError("limit_exceeded", message, {
    param: "revocations",
    retryAfterMs: Math.max(1_000, firstEndMs - nowMs),
  });
}
