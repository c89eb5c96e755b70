import { parseTenantId, plusMs, toUnixMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import { createTenantDirectory } from "./tenant-directory.ts";
import { toTenant } from "../records/tenant.ts";
import { mintStreamToken } from "../tokens/mint-stream-token.ts";
import { generateSigningKey, importPrivateKey, toPublicKey } from "../tokens/signing-key.ts";
import { createStreamTokens } from "./stream-tokens.ts";

const ACME = parseTenantId("acme");
const NOW_MS = toUnixMs("2026-11-22T12:00:00Z");
const AUDIENCE = "reprise";
const key = await generateSigningKey();
const noPlatformKeys = {
  signingKey: () => Promise.reject(new Error("not used")),
  find: () => undefined,
};

/** A tenant whose signing key is refused from then on, and its tokens. */
function openTokens(expires_at?: string) {
  const end = expires_at !== undefined && { expires_at };
  const tenantUntil = (until: { expires_at?: string } | false) =>
    toTenant({
      id: ACME,
      keys: [],
      policy: {},
      audit: {},
      signing_keys: [
        { kid: "k1", created_at: "2026-11-22T00:00:00Z", public_jwk: toPublicKey(key), ...until },
      ],
    });
  const tenants = createTenantDirectory({ tenants: [tenantUntil(end)] });
  let nowMs = NOW_MS;
  const now = () => nowMs;
  const tokens = createStreamTokens({ audience: AUDIENCE, tenants, platform: noPlatformKeys, now });
  return {
    tokens,
    expireKey: (at: string) => tenants.reload({ tenants: [tenantUntil({ expires_at: at })] }),
    pass: (ms: number) => (nowMs = plusMs(nowMs, ms)),
  };
}

async function mint() {
  const { token } = await mintStreamToken({
    key: { keyId: "k1", privateKey: await importPrivateKey(key) },
    audience: AUDIENCE,
    tenant: ACME,
    scopes: ["read"],
    endUser: "u1",
    ttlSeconds: 600,
    tokenId: "t1",
    nowMs: NOW_MS,
  });
  return token;
}

test("a token ends with its signing key, where that ends sooner", async () => {
  const until = "2026-11-22T12:01:00Z";
  const { tokens } = openTokens(until);
  expect((await tokens.authenticate(await mint())).expiresAtMs).toBe(toUnixMs(until));
  const { expiresAtMs } = await openTokens("2026-11-23T12:00:00Z").tokens.authenticate(await mint());
  expect(expiresAtMs).toBeLessThan(toUnixMs("2026-11-22T12:12:00Z"));
});

test("a token that was admitted before its signing key was given an end is refused from that end on", async () => {
  const { tokens, expireKey, pass } = openTokens();
  const before = await tokens.authenticate(await mint());
  const until = "2026-11-22T12:01:00Z";
  expireKey(until);
  const renewed = tokens.renew(before);
  expect(renewed?.expiresAtMs).toBe(toUnixMs(until));
  pass(60_000);
  expect(tokens.renew(before)).toBeUndefined();
});
