import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { loadTenantsFile, parseTenantsFile } from "./tenants-file.ts";

const SECRET = "rk_acme_0123456789abcdef";
const SHA256 = "0f".repeat(32);

function parse(json: unknown) {
  return parseTenantsFile(JSON.stringify(json), "tenants.json");
}

function messageOf(json: unknown): string {
  try {
    parse(json);
  } catch (error) {
    expect(error).toMatchObject({ code: "config_invalid", param: "tenants.json" });
    return (error as Error).message;
  }
  throw new Error("the file was accepted");
}

const withKey = (key: unknown) => ({ tenants: [{ id: "acme", keys: [key] }] });
const acme = (fields: object = {}) => ({
  id: "acme",
  keys: [{ secret: SECRET, roles: ["read"] }],
  ...fields,
});
const ONE_MORE = { secret: `${SECRET}2`, roles: ["read"] };
const SMALL_ORDER = Buffer.from(`01${"00".repeat(31)}`, "hex").toString("base64url");

describe("a tenants file", () => {
  test("gives tenants with their keys, roles and policy", () => {
    const { tenants } = parse({
      tenants: [
        {
          id: "acme",
          keys: [
            { secret: SECRET, roles: ["create", "read"], name: "web", expires_at: "2027-01-01T00:00:00Z" },
          ],
          models: ["sim"],
          slots: { weight: 3, max: 20 },
          conversations: { max: 5, ttl_days: 7 },
          cors_origins: ["https://app.example"],
          policy: { max_attempts: 2, on_disconnect: "keep" },
          audit: { min_days: 30, max_days: 365 },
        },
        { id: "globex", keys: [{ sha256: SHA256, roles: ["read"] }] },
      ],
    });
    expect(tenants).toEqual([
      {
        id: "acme",
        keys: [
          {
            id: expect.stringMatching(/^key_[0-9a-f]{16}$/),
            sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
            roles: new Set(["create", "read"]),
            holder: "web",
            expiresAtMs: Date.UTC(2027, 0, 1),
          },
        ],
        policy: { max_attempts: 2, on_disconnect: "keep" },
        audit: { minDays: 30, maxDays: 365 },
        models: new Set(["sim"]),
        slots: { weight: 3, max: 20 },
        conversations: { max: 5, ttl_days: 7 },
        corsOrigins: ["https://app.example"],
        signingKeys: [],
        revocations: [],
      },
      {
        id: "globex",
        keys: [
          {
            id: `key_${SHA256.slice(0, 16)}`,
            sha256: SHA256,
            roles: new Set(["read"]),
            holder: SHA256.slice(0, 12),
            expiresAtMs: Number.POSITIVE_INFINITY,
          },
        ],
        policy: {},
        audit: { minDays: 0 },
        signingKeys: [],
        revocations: [],
      },
    ]);
  });

  test("leaves no secret in what it gives", () => {
    expect(JSON.stringify(parse(withKey({ secret: SECRET, roles: ["read"] })))).not.toContain(SECRET);
  });

  test("is refused with every problem at once, each by its path", () => {
    const message = messageOf({
      tenants: [
        { id: "a.b", keys: [{ secret: SECRET, roles: ["operator"] }] },
        { id: "acme", keys: [], policy: { max_attempts: 99, retries: 3 }, plan: "gold" },
      ],
      version: 1,
    });
    const paths = message
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(":")[0]);
    expect(new Set(paths)).toEqual(
      new Set([
        "tenants[0].id",
        "tenants[0].keys[0].roles[0]",
        "tenants[1].keys",
        "tenants[1].policy.max_attempts",
        "tenants[1].policy.retries",
        "tenants[1].plan",
        "version",
      ]),
    );
  });

  test.each([
    [
      "match too much together",
      { pattern: "a.{150}", max_length: 200 },
      60,
      "53",
      "there may be 8192 at most",
    ],
    [
      "take too long to build together",
      { pattern: ".*[ab].{8}c", max_length: 20 },
      20,
      "9",
      "automata of all patterns",
    ],
  ])("is refused with rules that %s, by the first that is too much", (_, rule, count, index, problem) => {
    const rules = Array.from({ length: count }, () => rule);
    const message = messageOf({ tenants: [acme({ policy: { moderation: { rules } } })] });
    const at = String.raw`tenants\[0\]\.policy\.moderation\.rules\[${index}\]\.pattern: `;
    expect(message).toMatch(new RegExp(at));
    expect(message).toContain(problem);
  });

  test("is refused with every bad rule, by its path and what is wrong with it, beside all other problems", () => {
    const rules = [
      "cards",
      { pattern: "ok" },
      { terms: ["knife", "\u200d"] },
      { pattern: "(" },
      "unknown",
      { pattern: "$", action: "halt" },
      { terms: [] },
    ];
    const message = messageOf({
      tenants: [
        acme({ policy: { moderation: { rules, mode: "on" } } }),
        { id: "a.b", keys: [{ sha256: SHA256, roles: ["read"] }] },
      ],
    });
    const at = "tenants[0].policy.moderation";
    const problems = [
      `${at}.mode: `,
      `${at}.rules[4]: must be one of cards, secrets, personal-data, or {set}`,
      `${at}.rules[6].terms: `,
      `${at}.rules[2].terms[1]: "\u200d" has no character that counts`,
      `${at}.rules[3].pattern: error parsing regexp: missing closing )`,
      `${at}.rules[5].pattern: matches no text but the empty one`,
      "tenants[1].id: ",
    ];
    expect(message.split("\n").slice(1)).toEqual(
      problems.map((problem) => expect.stringContaining(problem) as string),
    );
  });

  test.each([
    ["no key material", { roles: ["read"] }, "tenants[0].keys[0]: must have one of secret and sha256"],
    [
      "both kinds of it",
      { secret: SECRET, sha256: SHA256, roles: ["read"] },
      "tenants[0].keys[0]: must have one of secret and sha256",
    ],
    ["a short secret", { secret: "hunter2", roles: ["read"] }, "tenants[0].keys[0].secret"],
    ["a secret with a blank", { secret: `${SECRET} x`, roles: ["read"] }, "tenants[0].keys[0].secret"],
    ["a hash in upper case", { sha256: SHA256.toUpperCase(), roles: ["read"] }, "tenants[0].keys[0].sha256"],
    ["no roles", { secret: SECRET, roles: [] }, "tenants[0].keys[0].roles"],
    [
      "a role twice",
      { secret: SECRET, roles: ["read", "read"] },
      "tenants[0].keys[0].roles: names a role twice",
    ],
    [
      "no name but blanks",
      { secret: SECRET, roles: ["read"], name: " " },
      "tenants[0].keys[0].name: must be",
    ],
    ...["timeout", "operator", "token.abc"].map((name): [string, object, string] => [
      `the name ${name}, which logs have for others`,
      { secret: SECRET, roles: ["read"], name },
      'tenants[0].keys[0].name: must not be "timeout" or "operator", nor begin with "token."',
    ]),
  ])("is refused for a key with %s", (_, key, problem) => {
    expect(messageOf(withKey(key))).toContain(problem);
  });

  test("keeps what is audited for ever, unless it says for how long, and never less than it must", () => {
    const parsed = (audit: object) => parse({ tenants: [acme({ audit })] }).tenants[0]!.audit;
    expect(parsed({ min_days: 3_650 })).toEqual({ minDays: 3_650 });
    expect(parsed({ max_days: 1 })).toEqual({ minDays: 0, maxDays: 1 });
    expect(parsed({ min_days: 7, max_days: 7 })).toEqual({ minDays: 7, maxDays: 7 });
    expect(parsed({ blobs: "content" })).toEqual({ minDays: 0, blobs: "content" });
  });

  test.each([
    ["without tenants, which would refuse every key", [], "tenants:"],
    ["with a tenant twice", [acme(), acme({ keys: [ONE_MORE] })], 'tenants[1].id: "acme" is there twice'],
    [
      "with a key of two tenants",
      [acme(), acme({ id: "globex" })],
      "tenants[1].keys[0]: is the same key as an earlier one",
    ],
    [
      "with an origin with a wildcard, which no page has",
      [acme({ cors_origins: ["https://a.example", "https://*.example"] })],
      "tenants[0].cors_origins[1]: must be one whole origin such as",
    ],
    [
      "with a signing key of small order, for which anybody can sign",
      [acme({ signing_keys: [{ kid: "k", public_jwk: { kty: "OKP", crv: "Ed25519", x: SMALL_ORDER } }] })],
      "tenants[0].signing_keys[0].public_jwk.x: is a point of small order",
    ],
    ...(
      [
        [{ min_days: 8, max_days: 7 }, "max_days: must not be less than min_days"],
        [{ min_days: -1 }, "min_days"],
        [{ max_days: 0 }, "max_days"],
        [{ max_days: 0.5 }, "max_days"],
        [{ days: 7 }, "days: "],
        [{ blobs: "bytes" }, "blobs"],
      ] as const
    ).map(([audit, problem]): [string, object[], string] => [
      `with an audit setting that can't be: ${JSON.stringify(audit)}`,
      [acme({ audit })],
      `tenants[0].audit.${problem}`,
    ]),
  ])("is refused %s", (_, tenants, problem) => {
    expect(messageOf({ tenants })).toContain(problem);
  });

  test("is refused when two keys of a tenant have one name; those of two tenants may", () => {
    const key = (secret: string) => ({ secret, roles: ["review"], name: "ann" });
    const tenants = (...keys: ReturnType<typeof key>[][]) => ({
      tenants: keys.map((of, i) => ({ id: `t${i}`, keys: of })),
    });
    expect(parse(tenants([key(SECRET)], [key(`${SECRET}2`)])).tenants).toHaveLength(2);
    expect(messageOf(tenants([key(SECRET), key(`${SECRET}2`)]))).toContain(
      'tenants[0].keys[1].name: "ann" is there twice',
    );
  });

  test.each([
    ["a value of the wrong kind", { secret: [SECRET], roles: ["read"] }],
    ["a secret that is too long", { secret: SECRET.repeat(20), roles: ["read"] }],
    ["a secret where a hash belongs", { sha256: SECRET, roles: ["read"] }],
    ["a secret where a role belongs", { sha256: SHA256, roles: [SECRET] }],
  ])("is refused for %s without telling the secret", (_, key) => {
    expect(messageOf(withKey(key))).not.toContain("rk_acme");
  });

  test("that is not JSON is refused without quoting what it holds", () => {
    const broken = () => parseTenantsFile(`{"tenants": [{"secret": ${SECRET}`, "tenants.json");
    expect(broken).toThrow(
      expect.objectContaining({ code: "config_invalid", message: "tenants.json is not JSON." }),
    );
    // The parser's own error quotes the text.
    expect(broken).toThrow(expect.not.objectContaining({ cause: expect.anything() }));
  });

  test("is read from disk, and its absence is a problem of the configuration", async () => {
    await using dir = await createTempDir("tenants");
    const path = join(dir.path, "tenants.json");
    await expect(loadTenantsFile(path)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("can't be read"),
    });
    await writeFile(path, JSON.stringify(withKey({ secret: SECRET, roles: ["read"] })));
    expect((await loadTenantsFile(path)).tenants).toHaveLength(1);
  });
});
