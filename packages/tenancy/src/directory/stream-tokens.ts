import { randomBytes } from "node:crypto";
import { type GenerationId, NEVER, type TenantId, type UnixMs, unixNow, toUnixMs } from "@reprise/protocol";
import type { Principal } from "./principal.ts";
import type { TenantDirectory } from "./tenant-directory.ts";
import { PLATFORM_KEY_PREFIX, type StreamToken, type TokenScope } from "../tokens/claims.ts";
import { type MintedToken, mintStreamToken } from "../tokens/mint-stream-token.ts";
import type { PlatformKeys } from "../tokens/platform-keys.ts";
import type { TokenTemplate } from "../tokens/token-template.ts";
import { isRevokedBy } from "../tokens/revocations.ts";
import {
  endOf,
  invalidToken,
  type TokenAuthority,
  verifyStreamToken,
} from "../tokens/verify-stream-token.ts";

export interface StreamTokensOptions {
  readonly audience: string;
  readonly tenants: Pick<TenantDirectory, "find">;
  readonly platform: Pick<PlatformKeys, "signingKey" | "find">;
  readonly now?: () => UnixMs;
}

export interface TokenRequest {
  readonly tenant: TenantId;
  readonly scopes: readonly TokenScope[];
  readonly generation?: GenerationId | undefined;
  readonly endUser?: string | undefined;
  readonly template?: TokenTemplate | undefined;
  readonly mayBringRules?: boolean | undefined;
  readonly ttlSeconds: number;
}

/** Stream tokens of all tenants: verifies those of tenants and of the platform, and mints the platform's own. */
export interface StreamTokens {
  /** @throws RepriseError `unauthenticated` */
  authenticate(text: string): Promise<Principal>;
  /** Brings a principal of an earlier `authenticate` up to date; returns undefined once its token is revoked, expired, or no longer signed by a known key. */
  renew(principal: Principal): Principal | undefined;
  mint(request: TokenRequest): Promise<MintedToken & { readonly tokenId: string }>;
}

export function createStreamTokens({
  audience,
  tenants,
  platform,
  now = unixNow,
}: StreamTokensOptions): StreamTokens {
  /** Finds a tenant's own key by its id, with the time from which it is refused. */
  function findOwnKey(tenant: TenantId, keyId: string) {
    const key = tenants.find(tenant)?.signingKeys.find(({ kid }) => kid === keyId);
    return key && { ...key, expiresAtMs: key.expires_at === undefined ? NEVER : toUnixMs(key.expires_at) };
  }
  const authority: TokenAuthority = {
    findKey(tenant, keyId) {
      if (!tenants.find(tenant)) return undefined;
      if (keyId.startsWith(PLATFORM_KEY_PREFIX)) return platform.find(keyId)?.publicKey;
      const own = findOwnKey(tenant, keyId);
      return !own || own.expiresAtMs <= now() ? undefined : own.public_jwk;
    },
    isRevoked(tenant, token) {
      const { revocations = [] } = tenants.find(tenant) ?? {};
      return revocations.some((revocation) => isRevokedBy(token, revocation));
    },
  };
  /** A token ends with the key that signed it. */
  function earlierEnd(expiresAtMs: UnixMs, tenant: TenantId, keyId: string): UnixMs {
    const key = keyId.startsWith(PLATFORM_KEY_PREFIX) ? platform.find(keyId) : findOwnKey(tenant, keyId);
    const keyEndsAtMs = key?.expiresAtMs ?? NEVER;
    return keyEndsAtMs < expiresAtMs ? keyEndsAtMs : expiresAtMs;
  }
  function toPrincipal(token: StreamToken): Principal {
    const tenant = tenants.find(token.tenant);
    if (!tenant) throw invalidToken();
    const { generation, endUser, tokenId, keyId, publicKey, issuedAtMs, template, mayBringRules } = token;
    return {
      tenant: token.tenant,
      roles: token.scopes,
      holder: `token.${tokenId}`,
      policy: tenant.policy,
      models: tenant.models,
      limits: tenant.limits,
      keyId,
      publicKey,
      expiresAtMs: earlierEnd(endOf(token), token.tenant, keyId),
      generation,
      endUser,
      tokenId,
      issuedAtMs,
      template,
      mayBringRules,
    };
  }
  return {
    async authenticate(text) {
      return toPrincipal(await verifyStreamToken(text, { audience, authority, nowMs: now() }));
    },
    renew(principal) {
      const {
        tenant: id,
        generation,
        endUser,
        tokenId,
        issuedAtMs,
        keyId,
        publicKey,
        expiresAtMs,
      } = principal;
      const tenant = tenants.find(id);
      if (!tenant || tokenId === undefined || issuedAtMs === undefined || expiresAtMs <= now())
        return undefined;
      const key = authority.findKey(id, keyId);
      if (!key || key.x !== publicKey?.x) return undefined;
      if (authority.isRevoked(id, { tokenId, generation, endUser, issuedAtMs })) return undefined;
      const { policy, models, limits } = tenant;
      return { ...principal, policy, models, limits, expiresAtMs: earlierEnd(expiresAtMs, id, keyId) };
    },
    async mint(request) {
      const tokenId = randomBytes(15).toString("base64url");
      const key = await platform.signingKey();
      const options = { ...request, audience, tokenId, nowMs: now() };
      return { ...(await mintStreamToken({ key, ...options })), tokenId };
    },
  };
}
