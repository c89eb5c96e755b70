import type { GenerationId } from "@reprise/protocol";
import { type StreamToken, TOKEN_LIMITS } from "./claims.ts";

/**
 * What makes tokens of a tenant invalid: one token, or all of a generation or an end user that were issued up to a time. Tokens are issued
 * in whole seconds, so one that is minted in the second of its revocation is revoked too.
 */
export type TokenRevocation =
  | { readonly kind: "token"; readonly tokenId: string; readonly revokedAtMs: number }
  | { readonly kind: "generation"; readonly generation: GenerationId; readonly revokedAtMs: number }
  | { readonly kind: "end_user"; readonly endUser: string; readonly revokedAtMs: number };

export function isRevokedBy(token: StreamToken, revocation: TokenRevocation): boolean {
  switch (revocation.kind) {
    case "token":
      return revocation.tokenId === token.tokenId;
    case "generation":
      return revocation.generation === token.generation && token.issuedAtMs <= revocation.revokedAtMs;
    case "end_user":
      return revocation.endUser === token.endUser && token.issuedAtMs <= revocation.revokedAtMs;
  }
}

/** When the last token that a revocation may concern has expired, on every node: the revocation can be forgotten then. */
export function forgettableAtMs({ revokedAtMs }: TokenRevocation): number {
  return revokedAtMs + (TOKEN_LIMITS.lifeSeconds + 2 * TOKEN_LIMITS.clockLeewaySeconds) * 1_000;
}
