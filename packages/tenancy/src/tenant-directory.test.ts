import { describe, expect, test } from "vitest";
import { createDevTenant } from "./dev-tenant.ts";
import { createTenantDirectory } from "./tenant-directory.ts";
import { parseTenantsFile, ROLES } from "./tenants-file.ts";

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
  test("knows whom each key stands for, and what it may do", () => {
    const directory = createTenantDirectory(BOTH);
    expect(directory.authenticate(ACME)).toEqual({
      tenant: "acme",
      roles: new Set(ROLES),
      holder: BOTH.tenants[0]!.keys[0]!.sha256.slice(0, 12),
      policy: { max_attempts: 1 },
    });
    expect(directory.authenticate(ACME_READ)).toEqual({
      tenant: "acme",
      roles: new Set(["read"]),
      holder: "dashboard",
      policy: { max_attempts: 1 },
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
