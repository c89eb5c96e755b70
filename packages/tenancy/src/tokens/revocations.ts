import { type UnixMs, toUnixMs, plusMs } from "@reprise/protocol";
import { type StreamToken, TOKEN_LIMITS } from "./claims.ts";

/** Revocation of a tenant's tokens: one token, by its `jti`, or all of a generation or an end user that were issued up to a time. */
export interface TokenRevocation {
  readonly kind: "token" | "generation" | "user";
  readonly value: string;
  /** RFC 3339. Tokens have the second in which they were issued: one of the second of its revocation is revoked too. */
  readonly at: string;
}

/** Fields by which a revocation finds a token. */
export type TokenIdentity = Pick<StreamToken, "tokenId" | "generation" | "endUser" | "issuedAtMs">;

export function isRevokedBy(token: TokenIdentity, { kind, value, at }: TokenRevocation): boolean {
  switch (kind) {
    case "token":
      return value === token.tokenId;
    case "generation":
      return value === token.generation && token.issuedAtMs <= toUnixMs(at);
    case "user":
      return value === token.endUser && token.issuedAtMs <= toUnixMs(at);
  }
}

/** When the last token that a revocation may concern has expired, on every node: the revocation can be forgotten then. */
export function forgettableAtMs(revokedAtMs: UnixMs): UnixMs {
  return plusMs(revokedAtMs, (TOKEN_LIMITS.lifeSeconds + 2 * TOKEN_LIMITS.clockLeewaySeconds) * 1_000);
}
