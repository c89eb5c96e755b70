import { type GenerationId, type TenantId, parseWith, type UnixMs, asUnixMs } from "@reprise/protocol";
import { type CryptoKey, SignJWT } from "jose";
import { claimsSchema, TOKEN_ALGORITHM, TOKEN_TYPE, type TokenScope } from "./claims.ts";

export interface MintOptions {
  /** The private key, and the id under which its public key is registered. */
  readonly key: { readonly keyId: string; readonly privateKey: CryptoKey };
  readonly audience: string;
  readonly tenant: TenantId;
  readonly scopes: readonly TokenScope[];
  /** At least one of this and `endUser`. */
  readonly generation?: GenerationId | undefined;
  readonly endUser?: string | undefined;
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
  };
  parseWith(claimsSchema, claims, "token");
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: TOKEN_ALGORITHM, typ: TOKEN_TYPE, kid: key.keyId })
    .sign(key.privateKey);
  return { token, expiresAtMs: asUnixMs(claims.exp * 1_000) };
}
