import { parseTenantId } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { parseTenantsFile } from "../file/tenants-file.ts";
import { toRecord, toTenant } from "./tenant.ts";
import { parseTenantRecord, type TenantRecord } from "./tenant-record.ts";

const ACME = parseTenantId("acme");
const AT = "2026-11-22T12:00:00.000Z";
const SHA256 = "0f".repeat(32);
const JWK = { kty: "OKP", crv: "Ed25519", x: "GhaXYIvv5t2ltiS2oiMpnuFpRl7KDeFeCC1IfWpZ2C4" };
const RECORD = {
  version: 1,
  id: "acme",
  created_at: AT,
  policy: { max_attempts: 2 },
  audit: { min_days: 1, blobs: "content" },
  models: ["sim"],
  slots: { weight: 3, max: 20 },
  conversations: { max: 5, ttl_days: 7 },
  cors_origins: ["https://app.example"],
  keys: [
    { name: "web", sha256: SHA256, prefix: "rk_acme_ab", roles: ["read"], created_at: AT, expires_at: AT },
  ],
  signing_keys: [{ kid: "k1", public_jwk: JWK, created_at: AT }],
  revocations: [{ kind: "user", value: "u1", at: AT, until: AT }],
};

const parse = (record: unknown) => parseTenantRecord(JSON.stringify(record), ACME);

function pathsOf(record: unknown): string[] {
  try {
    parse(record);
  } catch (error) {
    expect(error).toMatchObject({ code: "config_invalid" });
    expect((error as Error).message).not.toContain(SHA256);
    return (error as Error).message
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(":")[0]!);
  }
  return [];
}

describe("a tenant's record", () => {
  test("is read as it was written", () => {
    expect(parse(RECORD)).toEqual(RECORD);
  });

  test("is read with any rules, which were compiled by the process that took them in", () => {
    const policy = {
      moderation: { mode: "gate", rules: [{ pattern: "(a" }, { pattern: "(?s).*[aeiou].{20}§" }] },
    };
    expect(parse({ ...RECORD, policy })).toEqual({ ...RECORD, policy });
  });

  test("is refused with every problem at once, each by its path, and without a hash", () => {
    const { keys, signing_keys } = RECORD;
    const broken = {
      ...RECORD,
      version: 2,
      plan: "gold",
      policy: { max_attempts: 99 },
      models: [],
      slots: { weight: 0, max: 0.5 },
      conversations: { max: 0, ttl_days: 366 },
      cors_origins: ["https://app.example/path"],
      keys: [...keys, { ...keys[0], sha256: "x" }, { ...keys[0], name: "b", roles: ["operator"] }],
      signing_keys: [{ ...signing_keys[0], public_jwk: { ...JWK, d: "private" } }],
    };
    expect(pathsOf(broken)).toEqual(
      expect.arrayContaining([
        "version",
        "plan",
        "policy.max_attempts",
        "models",
        "slots.weight",
        "slots.max",
        "conversations.max",
        "conversations.ttl_days",
        "cors_origins[0]",
        "keys[1].sha256",
        "keys[2].roles[0]",
        "signing_keys[0].public_jwk.d",
      ]),
    );
  });

  test.each([
    ["stored for another tenant", { ...RECORD, id: "globex" }, ["id"]],
    [
      "with one key twice",
      { ...RECORD, keys: [RECORD.keys[0], { ...RECORD.keys[0], name: "b" }] },
      ["keys[1].sha256"],
    ],
    [
      "with one name twice",
      { ...RECORD, keys: [RECORD.keys[0], { ...RECORD.keys[0], sha256: "0e".repeat(32) }] },
      ["keys[1].name"],
    ],
    ["of a newer version", { ...RECORD, version: 2 }, ["version"]],
    ["that is no object", [], ["the file"]],
  ])("%s is refused", (_, record, paths) => {
    expect(pathsOf(record)).toEqual(paths);
  });

  test("of a tenant from the file gives that tenant again", () => {
    const keys = [
      { sha256: SHA256, roles: ["read", "admin"], expires_at: AT },
      { secret: "rk_acme_0123456789abcdef", roles: ["create"], name: "b" },
    ];
    const { policy, audit, models, slots, conversations, cors_origins, signing_keys } = RECORD;
    const file = {
      tenants: [
        { id: "acme", keys, policy, audit, models, slots, conversations, cors_origins, signing_keys },
        { id: "globex", keys: [{ sha256: "0e".repeat(32), roles: ["read"] }] },
      ],
    };
    for (const tenant of parseTenantsFile(JSON.stringify(file), "test").tenants) {
      const record: TenantRecord = toRecord(tenant, AT);
      expect(toTenant(parseTenantRecord(JSON.stringify(record), tenant.id))).toEqual(tenant);
    }
  });
});
