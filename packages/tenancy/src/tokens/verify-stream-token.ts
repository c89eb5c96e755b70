import { RepriseError, type TenantId, type UnixMs, plusMs, asUnixMs } from "@reprise/protocol";
import { errors, jwtVerify } from "jose";
import { type StreamToken, TOKEN_ALGORITHM, TOKEN_LIMITS, TOKEN_TYPE, type TokenClaims } from "./claims.ts";
import { decodeToken } from "./decode-token.ts";
import type { TokenIdentity } from "./revocations.ts";
import type { PublicKey } from "./public-key.ts";
import { importPublicKey } from "./signing-key.ts";

/** The keys that may sign tokens, and the revoked tokens, as a node knows them. In memory, because every request reads it. */
export interface TokenAuthority {
  /** The key with which tokens of a tenant are signed under this id: one that the tenant has registered, or the platform's. */
  findKey(tenant: TenantId, keyId: string): PublicKey | undefined;
  isRevoked(tenant: TenantId, token: TokenIdentity): boolean;
}

export interface VerifyOptions {
  readonly audience: string;
  readonly authority: TokenAuthority;
  readonly nowMs: UnixMs;
}

/**
 * Verifies a stream token. The tenant and the key id that it names select the key; the signature then proves both, so a key signs for its
 * own tenant alone. The algorithm, the type and the audience are pinned.
 * @throws RepriseError `unauthenticated`. Only one whose signature is right is told that it has expired; any other learns nothing of why.
 */
export async function verifyStreamToken(text: string, options: VerifyOptions): Promise<StreamToken> {
  const { audience, authority, nowMs } = options;
  const decoded = decodeToken(text);
  const jwk = decoded && authority.findKey(decoded.claims.tid, decoded.keyId);
  if (!decoded || !jwk) throw invalidToken();
  try {
    await jwtVerify(text, await importPublicKey(jwk), {
      algorithms: [TOKEN_ALGORITHM],
      typ: TOKEN_TYPE,
      audience,
      clockTolerance: TOKEN_LIMITS.clockLeewaySeconds,
      currentDate: new Date(nowMs),
    });
  } catch (error) {
    throw error instanceof errors.JWTExpired ? expiredToken() : invalidToken();
  }
  const token = toStreamToken(decoded.keyId, jwk, decoded.claims);
  // Of `iat` the library looks at the age alone, which a token from the future does not have.
  if (token.issuedAtMs > plusMs(nowMs, TOKEN_LIMITS.clockLeewaySeconds * 1_000)) throw invalidToken();
  if (authority.isRevoked(token.tenant, token)) throw invalidToken();
  return token;
}

/** From when on a token is refused: its `exp`, and the leeway of clocks. */
export function endOf({ expiresAtMs }: Pick<StreamToken, "expiresAtMs">): UnixMs {
  return plusMs(expiresAtMs, TOKEN_LIMITS.clockLeewaySeconds * 1_000);
}

export function expiredToken(): RepriseError {
  return unauthenticated("The stream token has expired; get a fresh one.");
}

export function invalidToken(): RepriseError {
  return unauthenticated("The stream token is not valid.");
}

function unauthenticated(message: string): RepriseError {
  return new RepriseError("unauthenticated", message, { param: "Authorization" });
}

function toStreamToken(
  keyId: string,
  publicKey: PublicKey,
  { tid, gen, sub, scope, iat, exp, jti, tpl, rules }: TokenClaims,
): StreamToken {
  return {
    tenant: tid,
    tokenId: jti,
    keyId,
    publicKey,
    scopes: new Set(scope),
    generation: gen,
    endUser: sub,
    template: tpl,
    mayBringRules: rules === true,
    issuedAtMs: asUnixMs(iat * 1_000),
    expiresAtMs: asUnixMs(exp * 1_000),
  };
}
