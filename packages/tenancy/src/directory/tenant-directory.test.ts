import { toUnixMs } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { createDevTenant } from "../file/dev-tenant.ts";
import { createTenantDirectory } from "./tenant-directory.ts";
import { parseTenantsFile } from "../file/tenants-file.ts";
import { ROLES } from "../records/roles.ts";

const ACME = "rk_acme_0123456789abcdef";
const ACME_READ = "rk_acme_fedcba9876543210";
const GLOBEX = "rk_globex_0123456789abcdef";

function config(tenants: unknown) {
  return parseTenantsFile(JSON.stringify({ tenants }), "test");
}

const BOTH = config([
  {
    id: "acme",
    keys: [
      { secret: ACME, roles: [...ROLES] },
      { secret: ACME_READ, roles: ["read"], name: "dashboard" },
    ],
    policy: { max_attempts: 1 },
  },
  { id: "globex", keys: [{ secret: GLOBEX, roles: ["read"] }] },
]);

describe("a tenant directory", () => {
  test("knows the tenant of each key, and what it may do", () => {
    const directory = createTenantDirectory(BOTH);
    expect(directory.authenticate(ACME)).toEqual({
      tenant: "acme",
      roles: new Set(ROLES),
      holder: BOTH.tenants[0]!.keys[0]!.sha256.slice(0, 12),
      policy: { max_attempts: 1 },
      keyId: BOTH.tenants[0]!.keys[0]!.id,
      expiresAtMs: Number.POSITIVE_INFINITY,
    });
    expect(directory.authenticate(ACME_READ)).toEqual({
      tenant: "acme",
      roles: new Set(["read"]),
      holder: "dashboard",
      policy: { max_attempts: 1 },
      keyId: BOTH.tenants[0]!.keys[1]!.id,
      expiresAtMs: Number.POSITIVE_INFINITY,
    });
    expect(directory.authenticate(GLOBEX)).toMatchObject({
      tenant: "globex",
      roles: new Set(["read"]),
      policy: {},
    });
  });

  test.each(["", " ", ACME.slice(0, -1), `${ACME} `, ACME.toUpperCase(), "acme", "__proto__"])(
    "has no tenant for %j",
    (token) => {
      expect(createTenantDirectory(BOTH).authenticate(token)).toBeUndefined();
    },
  );

  test("does not take a key's hash for the key", () => {
    const { sha256 } = BOTH.tenants[0]!.keys[0]!;
    expect(createTenantDirectory(BOTH).authenticate(sha256)).toBeUndefined();
  });

  test("forgets old keys and learns new ones at once when it is reloaded", () => {
    const directory = createTenantDirectory(BOTH);
    directory.reload(config([{ id: "globex", keys: [{ secret: ACME_READ, roles: ["create"] }] }]));
    expect(directory.authenticate(ACME)).toBeUndefined();
    expect(directory.authenticate(ACME_READ)).toMatchObject({ tenant: "globex" });
  });

  test("refuses a key from the moment at which it expires, and renews no principal of it", () => {
    let nowMs = toUnixMs("2026-12-31T23:59:59.999Z");
    const expires_at = "2027-01-01T00:00:00Z";
    const keys = [{ secret: ACME, roles: ["read"], expires_at }];
    const directory = createTenantDirectory(config([{ id: "acme", keys }]), { now: () => nowMs });
    const principal = directory.authenticate(ACME)!;
    expect(principal.expiresAtMs).toBe(Date.parse(expires_at));
    expect(directory.renew(principal)).toBe(principal);
    nowMs++;
    expect(directory.authenticate(ACME)).toBeUndefined();
    expect(directory.renew(principal)).toBeUndefined();
  });

  test("renews a principal with what its key may do now, and not at all once the key or the tenant is gone", () => {
    const directory = createTenantDirectory(BOTH);
    const principal = directory.authenticate(ACME)!;
    const acme = (roles: string[], secret = ACME) => config([{ id: "acme", keys: [{ secret, roles }] }]);
    directory.reload(acme(["read"]));
    expect(directory.renew(principal)).toMatchObject({ roles: new Set(["read"]), policy: {} });
    directory.reload(acme(["read"], ACME_READ));
    expect(directory.renew(principal)).toBeUndefined();
    directory.reload(config([{ id: "globex", keys: [{ secret: ACME, roles: ["read"] }] }]));
    expect(directory.renew(principal)).toBeUndefined();
  });

  test("tells of each tenant that was changed or removed, when it has changed", () => {
    const directory = createTenantDirectory(BOTH);
    const told: [string, unknown][] = [];
    const stop = directory.onChange((tenant) => told.push([tenant, directory.find(tenant)?.policy]));
    const keys = [{ secret: ACME, roles: ["read"] }];
    directory.reload(config([{ id: "globex", keys, policy: { max_attempts: 2 } }]));
    expect(told).toEqual([
      ["acme", undefined],
      ["globex", { max_attempts: 2 }],
    ]);
    stop();
    directory.reload(BOTH);
    expect(told).toHaveLength(2);
  });
});

describe("the tenant for development", () => {
  const random = Uint8Array.from({ length: 24 }, (_, i) => i);

  test("has one key that may do everything, and a file that knows only its hash", () => {
    const { tenant, secret, file } = createDevTenant(random);
    expect(secret).toBe("rk_demo_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    expect(file).not.toContain(secret);
    const directory = createTenantDirectory(parseTenantsFile(file, "dev"));
    expect(directory.authenticate(secret)).toMatchObject({ tenant, roles: new Set(ROLES), policy: {} });
  });

  test("is refused too little randomness", () => {
    expect(() => createDevTenant(random.subarray(0, 15))).toThrow("a key needs 16 random bytes, got 15");
  });
});
