import { describe, expect, test } from "vitest";
import { createApiKey } from "../keys/create-api-key.ts";
import { keyIdOf } from "../records/key-record.ts";
import { parseTenantRecord } from "../records/tenant-record.ts";
import { ACME, record } from "../testing/world.ts";
import { newSigningKeySchema, withRotatedSigningKey, withSigningKey } from "./change-signing-keys.ts";
import { withKey, withRotatedKey } from "./change-tenant.ts";

const NOW = new Date("2026-11-22T12:00:00.000Z");
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const JWK = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } as const;
const signing = (kid: string, expires_at?: string) => ({
  kid,
  public_jwk: JWK,
  ...(expires_at !== undefined && { expires_at }),
});
const reread = (tenant: object) => parseTenantRecord(JSON.stringify(tenant), ACME);

describe("a tenant's record", () => {
  test("takes as many API keys as can be read back, and one more is refused", () => {
    let present = record(ACME, []);
    const add = (i: number) => {
      const key = createApiKey(
        ACME,
        Uint8Array.from({ length: 16 }, (_, at) => (at === 0 ? i : at)),
      );
      present = withKey(present, key, { name: `k${i}`, roles: ["read"] }, NOW);
    };
    for (let i = 0; i < 100; i++) add(i);
    expect(reread(present).keys).toHaveLength(100);
    expect(() => add(100)).toThrow(expect.objectContaining({ code: "invalid_request", param: "key" }));
  });

  test("takes no key that has expired already", () => {
    const tenant = withSigningKey(record(ACME, []), signing("old"), NOW);
    const made = (first: number) => createApiKey(ACME, new Uint8Array(16).fill(first));
    const expires_at = NOW.toISOString();
    const present = withKey(tenant, made(1), { name: "old", roles: ["read"] }, NOW);
    const [{ sha256 } = { sha256: "" }] = present.keys;
    const rotation = { overlap_seconds: 1, expires_at };
    for (const change of [
      () => withKey(present, made(2), { name: "new", roles: ["read"], expires_at }, NOW),
      () => withRotatedKey(present, { id: keyIdOf(sha256), key: made(2), rotation, now: NOW }),
      () => withSigningKey(present, signing("new", expires_at), NOW),
      () =>
        withRotatedSigningKey(present, {
          kid: "old",
          rotation: { ...signing("new"), ...rotation },
          now: NOW,
        }),
    ])
      expect(change).toThrow(expect.objectContaining({ code: "invalid_request", param: "expires_at" }));
  });

  test("takes ten signing keys, not counting those that have expired, and one more is refused", () => {
    let present = withSigningKey(record(ACME, []), signing("old", later(1).toISOString()), NOW);
    for (let i = 0; i < 10; i++) present = withSigningKey(present, signing(`k${i}`), later(2));
    expect(reread(present).signing_keys.map(({ kid }) => kid)).not.toContain("old");
    for (const change of [
      () => withSigningKey(present, signing("k10"), later(3)),
      () =>
        withRotatedSigningKey(present, {
          kid: "k1",
          rotation: { ...signing("k10"), overlap_seconds: 1 },
          now: later(3),
        }),
    ])
      expect(change).toThrow(expect.objectContaining({ code: "invalid_request", param: "signing_keys" }));
  });

  test("knows a signing key that it got by an attempt whose answer was lost, and takes no other under its id", () => {
    const present = withSigningKey(record(ACME, []), signing("k1"), NOW);
    expect(withSigningKey(present, signing("k1"), NOW)).toBe(present);
    expect(() => withSigningKey(present, signing("k1"), later(1))).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "kid" }),
    );
  });

  test("keeps an earlier expiry of a signing key that is rotated", () => {
    const expires_at = later(30).toISOString();
    const present = withSigningKey(record(ACME, []), signing("k1", expires_at), NOW);
    const rotate = (overlap_seconds: number) =>
      withRotatedSigningKey(present, {
        kid: "k1",
        rotation: { ...signing("k2"), overlap_seconds },
        now: NOW,
      }).signing_keys.map((key) => key.expires_at);
    expect(rotate(60)).toEqual([expires_at, undefined]);
    expect(rotate(10)).toEqual([later(10).toISOString(), undefined]);
  });
});

test.each([
  ["a private key", { ...JWK, d: JWK.x }],
  ["another curve", { ...JWK, crv: "X25519" }],
  ["another algorithm", { ...JWK, alg: "RS256" }],
  ["a secret", { kty: "oct", k: JWK.x }],
  ["another use", { ...JWK, use: "enc" }],
  ["the id of another key", { ...JWK, kid: "k2" }],
  ["another writing of the same bytes", { ...JWK, x: `${JWK.x.slice(0, -1)}p` }],
])("a registration with %s is refused", (_, public_jwk) => {
  expect(newSigningKeySchema.safeParse({ kid: "k1", public_jwk: JWK }).success).toBe(true);
  expect(newSigningKeySchema.safeParse({ kid: "k1", public_jwk }).success).toBe(false);
});
