import { parseTenantId, parseWith } from "@reprise/protocol";
import {
  createKey,
  newKeySchema,
  newRevocationSchema,
  newSigningKeySchema,
  newTenant,
  newTenantSchema,
  parseTenantRecord,
  parseTenantsFile,
  rotationSchema,
  signingKeyRotationSchema,
  type TenantRecord,
  tenantSettingsSchema,
  TOKEN_LIMITS,
  withKey,
  withRevocation,
  withRotatedKey,
  withRotatedSigningKey,
  withSettings,
  withSigningKey,
} from "@reprise/tenancy";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { reviewAnswerSchema } from "../routes/reviews.ts";
import { generationTokenSchema, userTokenSchema } from "../routes/tokens.ts";
import { fuzz, nearly } from "./fuzz.fixture.ts";

const NOW = new Date("2026-11-22T12:00:00.000Z");
const ACME = parseTenantId("acme");
const open = { requiredKeys: [] };
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
const text = fc.string({ minLength: 1, maxLength: 12 });
/** Mostly what is valid: the changes of `nearly` bring the rest. */
const rarely = <A, B>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<B>) =>
  fc.oneof({ weight: 19, arbitrary: usual }, { weight: 1, arbitrary: odd });
const expires_at = rarely(
  fc.date({ min: NOW, max: new Date("9999-01-01"), noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom(
    "2026-11-22T12:00Z",
    "2028-02-29T23:59:59.123456789Z",
    "2027-02-29T00:00:00Z",
    "0000-01-01T00:00Z",
  ),
);
const roles = fc.uniqueArray(
  fc.constantFrom("create", "read", "cancel", "tool", "review", "audit", "usage", "admin"),
  {
    minLength: 1,
  },
);
const count = fc.integer({ min: 1, max: 1_000 });
const limits = fc.record({ requests_per_minute: count, tokens_per_minute: count, readers: count }, open);
const rule = fc.oneof(
  fc.constantFrom("cards", "secrets"),
  fc.record({ terms: fc.array(name, { minLength: 1, maxLength: 3 }) }),
  fc.record({
    pattern: rarely(
      fc.constantFrom("a+b", "(?i)secret", "[0-9]{4}", "x|y"),
      fc.string({ unit: fc.constantFrom(..."ab|()[]{}*+?^$.\\1,-:<>=!dwP".split("")), maxLength: 12 }),
    ),
  }),
  fc.record({ classifier: name }),
);
const settings = {
  policy: fc.record(
    {
      max_attempts: fc.integer({ min: 1, max: 10 }),
      moderation: fc.record({
        mode: fc.constantFrom("off", "gate"),
        rules: fc.array(rule, { maxLength: 2 }),
      }),
    },
    open,
  ),
  audit: fc.record({ min_days: fc.nat(5), max_days: fc.integer({ min: 5, max: 9 }) }, open),
  models: fc.array(fc.constantFrom("sim", "a/b"), { minLength: 1, maxLength: 2 }),
  limits: fc.record({ tenant: limits, key: limits, end_user: limits, address: limits }, open),
  slots: fc.record({ weight: fc.integer({ min: 1, max: 9 }), max: fc.integer({ min: 1, max: 9 }) }, open),
  conversations: fc.record(
    { max: fc.integer({ min: 1, max: 9 }), ttl_days: fc.integer({ min: 1, max: 9 }) },
    open,
  ),
  cors_origins: fc.array(rarely(fc.constantFrom("https://a.example", "http://[::1]:8080"), fc.webUrl()), {
    maxLength: 3,
  }),
};
const public_jwk = fc.record(
  {
    kty: fc.constant("OKP"),
    crv: fc.constant("Ed25519"),
    x: fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((bytes) => Buffer.from(bytes).toString("base64url")),
    use: fc.constant("sig"),
    alg: fc.constantFrom("EdDSA", "Ed25519"),
  },
  { requiredKeys: ["kty", "crv", "x"] },
);
const present = newTenant(parseWith(newTenantSchema, { id: "acme" }), NOW);
const random = Uint8Array.from({ length: 24 }, (_, i) => i);
const fresh = createKey(ACME, random);
const old = createKey(ACME, random.toReversed());
const withOld = withKey(present, old, { name: "web", roles: ["read"] }, NOW);
const JWK = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } as const;
const signed = withSigningKey(present, { kid: "k1", public_jwk: JWK }, NOW);

/** A node that can't read a tenant's record admits none of its requests. */
function expectReadable(record: TenantRecord): void {
  const json = JSON.stringify(record);
  expect(parseTenantRecord(json, record.id)).toEqual(JSON.parse(json));
  for (const key of [...record.keys, ...record.signing_keys])
    if (key.expires_at !== undefined) expect(Date.parse(key.expires_at)).not.toBeNaN();
}

test("newTenantSchema and tenantSettingsSchema take what can be stored and read again", () => {
  fuzz(nearly(fc.record({ id: name, ...settings }, { requiredKeys: ["id"] })), {
    parse: (body) => newTenant(parseWith(newTenantSchema, body), NOW),
    check: expectReadable,
  });
  fuzz(nearly(fc.record(settings, open)), {
    parse: (body) => withSettings(present, parseWith(tenantSettingsSchema, body)),
    check: expectReadable,
  });
});

test("newKeySchema and rotationSchema take what can be stored and read again", () => {
  const key = fc.record({ name, roles, expires_at }, { requiredKeys: ["name", "roles"] });
  fuzz(nearly(key), {
    parse: (body) => withKey(present, fresh, parseWith(newKeySchema, body), NOW),
    check: expectReadable,
  });
  const id = `key_${old.sha256.slice(0, 16)}`;
  fuzz(nearly(fc.record({ overlap_seconds: fc.nat(2_600_000), name, expires_at }, open)), {
    parse(body) {
      const rotation = parseWith(rotationSchema, body);
      return withRotatedKey(withOld, { id, key: fresh, rotation, now: NOW });
    },
    check: expectReadable,
  });
});

test("newSigningKeySchema and signingKeyRotationSchema take public keys that can be stored and read again", () => {
  const isPublic = (record: TenantRecord) => {
    expectReadable(record);
    for (const key of record.signing_keys)
      expect(Object.keys(key.public_jwk).toSorted()).toEqual(["crv", "kty", "x"]);
  };
  const key = { kid: name, public_jwk, expires_at };
  fuzz(nearly(fc.record(key, { requiredKeys: ["kid", "public_jwk"] })), {
    parse: (body) => withSigningKey(present, parseWith(newSigningKeySchema, body), NOW),
    check: isPublic,
  });
  const rotated = fc.record(
    { ...key, overlap_seconds: fc.nat(2_600_000) },
    { requiredKeys: ["kid", "public_jwk"] },
  );
  fuzz(nearly(rotated), {
    parse(body) {
      const rotation = parseWith(signingKeyRotationSchema, body);
      return withRotatedSigningKey(signed, { kid: "k1", rotation, now: NOW });
    },
    check: isPublic,
  });
});

test("newRevocationSchema takes what can be stored and read again", () => {
  const value = fc.oneof(fc.stringMatching(/^[!-~]{1,140}$/), fc.constant(`gen_0_${"0".repeat(26)}`), name);
  fuzz(nearly(fc.record({ kind: fc.constantFrom("token", "generation", "user"), value })), {
    parse: (body) => withRevocation(present, parseWith(newRevocationSchema, body), NOW),
    check: expectReadable,
  });
});

test("generationTokenSchema and userTokenSchema take what a token can say", () => {
  const scopes = fc.uniqueArray(fc.constantFrom("read", "cancel", "tool", "create"), { minLength: 1 });
  const body = fc.record(
    { scopes, ttl_seconds: fc.nat(3_700), end_user: name },
    { requiredKeys: ["scopes"] },
  );
  for (const schema of [generationTokenSchema, userTokenSchema])
    fuzz(nearly(body), {
      parse: (value) => parseWith<{ scopes: string[]; ttl_seconds: number }>(schema, value),
      check(taken) {
        expect(new Set(taken.scopes).size).toBe(taken.scopes.length);
        expect(taken.ttl_seconds >= 1 && taken.ttl_seconds <= TOKEN_LIMITS.lifeSeconds).toBe(true);
      },
    });
});

test("reviewAnswerSchema takes a replacement for an edit alone", () => {
  const decision = fc.constantFrom("approve", "redact", "halt", "edit");
  fuzz(nearly(fc.record({ decision, replacement: text }, { requiredKeys: ["decision"] })), {
    parse: (body) => parseWith(reviewAnswerSchema, body),
    check: (taken) => expect(taken.decision === "edit").toBe(taken.replacement !== undefined),
  });
});

test("parseTenantsFile takes tenants, or lists what is wrong without a secret", () => {
  const secret = fc.stringMatching(/^rk_[!-~]{10,30}$/);
  const key = fc.record({ name, secret, roles, expires_at }, { requiredKeys: ["secret", "roles"] });
  const tenant = fc.record(
    { id: name, keys: fc.array(key, { minLength: 1, maxLength: 2 }), ...settings },
    { requiredKeys: ["id", "keys"] },
  );
  const file = fc.record({ tenants: fc.array(tenant, { minLength: 1, maxLength: 2 }) });
  fuzz(
    nearly(file).map((json) => JSON.stringify(json, plain) ?? ""),
    {
      parse(json) {
        try {
          return parseTenantsFile(json, "tenants.json");
        } catch (error) {
          expect(String(error)).not.toContain("rk_");
          throw error;
        }
      },
      mayRefuse: (code) => code === "config_invalid",
      check: ({ tenants }) => expect(new Set(tenants.map(({ id }) => id)).size).toBe(tenants.length),
    },
  );
});

/** Converts values that a JSON file cannot hold. */
function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}` : value;
}
