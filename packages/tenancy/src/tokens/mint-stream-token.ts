import {
  type GenerationId,
  type TenantId,
  parseWith,
  RepriseError,
  type UnixMs,
  asUnixMs,
} from "@reprise/protocol";
import { type CryptoKey, SignJWT } from "jose";
import { claimsSchema, TOKEN_ALGORITHM, TOKEN_LIMITS, TOKEN_TYPE, type TokenScope } from "./claims.ts";
import type { TokenTemplate } from "./token-template.ts";

export interface MintOptions {
  /** The private key, and the id under which its public key is registered. */
  readonly key: { readonly keyId: string; readonly privateKey: CryptoKey };
  readonly audience: string;
  readonly tenant: TenantId;
  readonly scopes: readonly TokenScope[];
  /** At least one of this and `endUser`. */
  readonly generation?: GenerationId | undefined;
  readonly endUser?: string | undefined;
  /** Fields that are fixed in the requests that it creates. */
  readonly template?: TokenTemplate | undefined;
  /** True if they may have moderation rules of their own, without a template. Default false. */
  readonly mayBringRules?: boolean | undefined;
  /** 1 to 3,600. */
  readonly ttlSeconds: number;
  /** Unlike that of any other token of the tenant. */
  readonly tokenId: string;
  readonly nowMs: UnixMs;
}

export interface MintedToken {
  readonly token: string;
  readonly expiresAtMs: UnixMs;
}

/**
 * A signed stream token.
 * @throws RepriseError `invalid_request` for claims that no node would take
 */
export async function mintStreamToken(options: MintOptions): Promise<MintedToken> {
  const { key, audience, tenant, scopes, generation, endUser, ttlSeconds, tokenId, nowMs } = options;
  const { template, mayBringRules = false } = options;
  const iat = Math.floor(nowMs / 1_000);
  const claims = {
    aud: audience,
    tid: tenant,
    ...(generation !== undefined && { gen: generation }),
    ...(endUser !== undefined && { sub: endUser }),
    scope: scopes.join(" "),
    iat,
    exp: iat + ttlSeconds,
    jti: tokenId,
    ...(template && { tpl: JSON.stringify(template) }),
    ...(mayBringRules && { rules: true }),
  };
  parseWith(claimsSchema, claims, "token");
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: TOKEN_ALGORITHM, typ: TOKEN_TYPE, kid: key.keyId })
    .sign(key.privateKey);
  if (token.length > TOKEN_LIMITS.length) throw tooLong(token.length);
  return { token, expiresAtMs: asUnixMs(claims.exp * 1_000) };
}

function tooLong(length: number): RepriseError {
  const message = `template: the token would have ${length} characters, and may have ${TOKEN_LIMITS.length}.`;
  return new RepriseError("invalid_request", message, { param: "template" });
}
