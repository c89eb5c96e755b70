import * as z from "zod";
import { keyIdSchema } from "../tokens/claims.ts";
import { timeSchema } from "./key-record.ts";

/*
 * The part of a tenant's record for stream tokens: the keys that the tenant signs them with, and the tokens that no longer count.
 */

export const MAX_SIGNING_KEYS = 10;
export const MAX_REVOCATIONS = 1_000;
const MAX_VALUE_CHARS = 256;

/** An Ed25519 public key. Strict: a private part is refused, not kept. */
const publicJwkSchema = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/, "must be 32 bytes as base64url, 43 characters"),
});

export const signingKeySchema = z.strictObject({
  kid: keyIdSchema,
  public_jwk: publicJwkSchema,
  created_at: timeSchema.optional(),
  /** Tokens signed by it are refused from then on. Absent: never. */
  expires_at: timeSchema.optional(),
});

const REVOCATION_KINDS = ["token", "generation", "user"] as const;

export const revocationSchema = z.strictObject({
  kind: z.enum(REVOCATION_KINDS),
  /** The token's `jti`, the generation's id, or the end user's `sub`. */
  value: z.string().min(1).max(MAX_VALUE_CHARS),
  /** Tokens issued at this time or earlier are refused. */
  at: timeSchema,
  /** From then on all those tokens have expired, and the revocation can be forgotten. */
  until: timeSchema,
});

export type SigningKey = z.infer<typeof signingKeySchema>;
export type Revocation = z.infer<typeof revocationSchema>;
