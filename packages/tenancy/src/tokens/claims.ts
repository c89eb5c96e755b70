import {
  type GenerationId,
  isGenerationId,
  isTenantId,
  isEndUser,
  type TenantId,
  type UnixMs,
} from "@reprise/protocol";
import * as z from "zod";
import type { PublicKey } from "./public-key.ts";
import { decodeTokenTemplate, type TokenTemplate } from "./token-template.ts";

/** Scopes of a stream token. Each has the name of the API key role that permits the same. */
export const TOKEN_SCOPES = ["read", "cancel", "tool", "input", "produce", "create"] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

export const TOKEN_LIMITS = {
  /** The longest time from `iat` to `exp`, in seconds. */
  lifeSeconds: 3_600,
  /** Seconds that the clocks of an issuer and a node may differ. */
  clockLeewaySeconds: 10,
  /** The longest token, in characters. */
  length: 2_048,
} as const;

/** The media type in a token's header: a JWT that was issued for another purpose does not have it. */
export const TOKEN_TYPE = "reprise-stream+jwt";
export const TOKEN_ALGORITHM = "EdDSA";

/** Prefix of the ids of the platform's own keys. A tenant's cannot begin with it. */
export const PLATFORM_KEY_PREFIX = "reprise-";

const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -");

export const keyIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -");
/** The id of a key that a tenant registers. */
export const ownKeyIdSchema = keyIdSchema.refine((kid) => !kid.startsWith(PLATFORM_KEY_PREFIX), {
  error: `must not begin with "${PLATFORM_KEY_PREFIX}": those are the platform's own keys`,
});
export const tokenIdSchema = id;
export const audienceSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, "must be 1 to 128 visible ASCII characters");

export const scopesSchema = z
  .array(z.enum(TOKEN_SCOPES))
  .min(1)
  .refine((scopes) => new Set(scopes).size === scopes.length, "names a scope twice");

const scopeClaim = z
  .string()
  .transform((text) => text.split(" "))
  .pipe(scopesSchema);

const time = z.int().min(0);

/** A text, since claims have no objects in them. */
const templateClaim = z.string().transform((text, context): TokenTemplate => {
  const template = decodeTokenTemplate(text);
  if (template) return template;
  context.issues.push({ code: "custom", message: "is not a template", input: text });
  return z.NEVER;
});

/** A header that names anything else, such as a key of its own (`jwk`, `jku`, `x5u`) or extensions (`crit`), is refused. */
export const headerSchema = z.strictObject({
  alg: z.literal(TOKEN_ALGORITHM),
  typ: z.literal(TOKEN_TYPE),
  kid: keyIdSchema,
});

/**
 * The claims of a token. Strict: an unknown claim may be a restriction that is misspelled, or one of a later version, and the token
 * would permit more than its issuer meant.
 */
export const claimsSchema = z
  .strictObject({
    aud: audienceSchema,
    tid: z.custom<TenantId>(isTenantId),
    gen: z.custom<GenerationId>(isGenerationId).optional(),
    sub: z.custom<string>(isEndUser).optional(),
    scope: scopeClaim,
    iat: time,
    nbf: time.optional(),
    exp: time,
    jti: tokenIdSchema,
    tpl: templateClaim.optional(),
    rules: z.literal(true).optional(),
  })
  .refine(({ gen, sub }) => gen !== undefined || sub !== undefined, "must be bound by gen, sub or both")
  .refine(({ gen, sub, scope }) => !scope.includes("create") || (sub !== undefined && gen === undefined), {
    error: "create needs sub, and no gen",
  })
  .refine(({ tpl, rules, scope }) => (tpl === undefined && rules === undefined) || scope.includes("create"), {
    error: "tpl and rules are of tokens that create",
  })
  .refine(({ tpl, rules }) => tpl === undefined || rules === undefined, {
    error: "a template says the rules: tpl and rules exclude each other",
  })
  .refine(({ iat, exp }) => exp > iat && exp - iat <= TOKEN_LIMITS.lifeSeconds, {
    error: `exp must be at most ${TOKEN_LIMITS.lifeSeconds} s after iat`,
  });

export type TokenClaims = z.infer<typeof claimsSchema>;

/** A token that was verified. */
export interface StreamToken {
  readonly tenant: TenantId;
  /** `jti`: what a revocation may name. */
  readonly tokenId: string;
  /** The key that it was signed with. */
  readonly keyId: string;
  /** That key itself: another one may be registered under the same id later. */
  readonly publicKey: PublicKey;
  readonly scopes: ReadonlySet<TokenScope>;
  /** The one generation that it permits access to; undefined for all of its end user. */
  readonly generation: GenerationId | undefined;
  /** Whose generations alone it permits access to; undefined for any. */
  readonly endUser: string | undefined;
  /** Fields that it fixes in the requests that it creates; undefined: none. */
  readonly template: TokenTemplate | undefined;
  /** True if requests that it creates may have moderation rules of their own. */
  readonly mayBringRules: boolean;
  readonly issuedAtMs: UnixMs;
  readonly expiresAtMs: UnixMs;
}
