import { createHmac, createPublicKey, generateKeyPairSync } from "node:crypto";
import {
  type GenerationId,
  parseGenerationId,
  parseTenantId,
  type TenantId,
  toUnixMs,
  plusMs,
  asUnixMs,
} from "@reprise/protocol";
import fc from "fast-check";
import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { TOKEN_LIMITS, TOKEN_TYPE } from "./claims.ts";
import { decodeToken } from "./decode-token.ts";
import { mintStreamToken } from "./mint-stream-token.ts";
import { isRevokedBy, type TokenRevocation } from "./revocations.ts";
import { generateSigningKey, importPrivateKey, type PrivateKey, toPublicKey } from "./signing-key.ts";
import type { PublicKey } from "./public-key.ts";
import { type TokenAuthority, verifyStreamToken } from "./verify-stream-token.ts";

const ACME = parseTenantId("acme");
const BETA = parseTenantId("beta");
const ONE = parseGenerationId("gen_0_00000000000000000000000001");
const OTHER = parseGenerationId("gen_0_00000000000000000000000002");
const NOW_MS = toUnixMs("2026-11-22T12:00:00Z");
const NOW = NOW_MS / 1_000;
const LEEWAY = TOKEN_LIMITS.clockLeewaySeconds;

const keys = {
  acme: await generateSigningKey(),
  beta: await generateSigningKey(),
  platform: await generateSigningKey(),
  stranger: await generateSigningKey(),
};

const REGISTERED: Readonly<Record<string, PublicKey>> = {
  "acme/k1": toPublicKey(keys.acme),
  "beta/k2": toPublicKey(keys.beta),
  "acme/platform": toPublicKey(keys.platform),
  "beta/platform": toPublicKey(keys.platform),
};

function authority(revocations: readonly TokenRevocation[] = []): TokenAuthority {
  return {
    findKey: (tenant, keyId) => REGISTERED[`${tenant}/${keyId}`],
    isRevoked: (_, token) => revocations.some((revocation) => isRevokedBy(token, revocation)),
  };
}

const verify = (text: string, { nowMs = NOW_MS, revocations = [] as readonly TokenRevocation[] } = {}) =>
  verifyStreamToken(text, { audience: "reprise", authority: authority(revocations), nowMs });

const CLAIMS = {
  aud: "reprise",
  tid: ACME as string,
  gen: ONE as string,
  scope: "read",
  iat: NOW,
  exp: NOW + 60,
  jti: "t1",
};
const HEADER = { alg: "EdDSA", typ: TOKEN_TYPE, kid: "k1" };

/** Signs any claims without checks, as a careless or hostile issuer would. */
async function sign(claims: object, header: object = HEADER, key: PrivateKey = keys.acme): Promise<string> {
  const signed = new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", ...header });
  return signed.sign(await importPrivateKey(key));
}

const encode = (text: string) => Buffer.from(text).toString("base64url");

/** Text of a header and claims as they are, signed with acme's key. */
async function signText(header: string, claims: string): Promise<string> {
  const input = `${encode(header)}.${encode(claims)}`;
  const key = await importPrivateKey(keys.acme);
  const signature = await crypto.subtle.sign("Ed25519", key, Buffer.from(input));
  return `${input}.${Buffer.from(signature).toString("base64url")}`;
}

const INVALID = {
  code: "unauthenticated",
  message: "The stream token is not valid.",
  retryable: false,
};
const EXPIRED = { ...INVALID, message: "The stream token has expired; get a fresh one." };

describe("a stream token", () => {
  test("that was minted gives its tenant, its bounds and its scopes", async () => {
    const { token, expiresAtMs } = await mintStreamToken({
      key: { keyId: "k1", privateKey: await importPrivateKey(keys.acme) },
      audience: "reprise",
      tenant: ACME,
      scopes: ["read", "create"],
      endUser: "user-7",
      ttlSeconds: 900,
      tokenId: "t1",
      nowMs: plusMs(NOW_MS, 999),
    });
    expect(expiresAtMs).toBe(NOW_MS + 900_000);
    expect(await verify(token)).toEqual({
      tenant: "acme",
      tokenId: "t1",
      keyId: "k1",
      publicKey: toPublicKey(keys.acme),
      scopes: new Set(["read", "create"]),
      generation: undefined,
      endUser: "user-7",
      template: undefined,
      mayBringRules: false,
      issuedAtMs: NOW_MS,
      expiresAtMs,
    });
  });

  test.each([
    ["without a bound", { gen: undefined }],
    ["that creates within a generation", { scope: "create", sub: "u" }],
    ["that creates for no end user", { scope: "create" }],
    ["for longer than an hour", { exp: NOW + TOKEN_LIMITS.lifeSeconds + 1 }],
    ["that has expired before it begins", { exp: NOW }],
    ["with a role that is no scope", { scope: "read admin" }],
    ["with a scope twice", { scope: "read read" }],
    ["with no scope", { scope: "" }],
    ["with a scope and a blank", { scope: "read " }],
    ["with a list of scopes", { scope: ["read"] }],
    ["with a list of audiences", { aud: ["reprise", "other"] }],
    ["for another audience", { aud: "other" }],
    ["for no audience", { aud: undefined }],
    ["with a claim that is not known", { generation: OTHER }],
    ["with a tenant that is none", { tid: "a.b" }],
    ["with a tenant of another kind", { tid: 1 }],
    ["with a generation that is none", { gen: "gen_*" }],
    ["with an end user of blanks", { sub: "a b" }],
    ["without an id", { jti: undefined }],
    ["that was issued in text", { iat: `${NOW}` }],
    ["that was issued in fractions", { iat: NOW + 0.5 }],
    ["that never expires", { exp: undefined }],
    ["that expires beyond all numbers", { iat: 1e308, exp: 1e308 }],
    ["that was issued in the future", { iat: NOW + LEEWAY + 1 }],
    ["that is not valid yet", { nbf: NOW + LEEWAY + 1 }],
  ])("%s is refused, though its signature is right", async (_, change) => {
    await expect(verify(await sign({ ...CLAIMS, ...change }))).rejects.toMatchObject(INVALID);
  });

  test("is taken within the leeway of clocks, and says when it has expired after that", async () => {
    const ahead = await sign({ ...CLAIMS, iat: NOW + LEEWAY, nbf: NOW + LEEWAY });
    expect(await verify(ahead)).toMatchObject({ tokenId: "t1" });
    const token = await sign(CLAIMS);
    const endMs = asUnixMs((CLAIMS.exp + LEEWAY) * 1_000);
    expect(await verify(token, { nowMs: plusMs(endMs, -1_000) })).toMatchObject({ tokenId: "t1" });
    await expect(verify(token, { nowMs: endMs })).rejects.toMatchObject(EXPIRED);
  });

  test("whose signature is wrong is not told that it has expired", async () => {
    const token = await sign(CLAIMS, HEADER, keys.stranger);
    const nowMs = plusMs(NOW_MS, 7_200_000);
    await expect(verify(token, { nowMs })).rejects.toMatchObject(INVALID);
  });
});

describe("a token that confuses", () => {
  const claims = JSON.stringify(CLAIMS);

  test.each([
    ["none", "none"],
    ["None, without a signature", "None"],
    ["an empty one", ""],
  ])("by the algorithm %s is refused", async (_, alg) => {
    const head = encode(JSON.stringify({ ...HEADER, alg }));
    for (const signature of ["", "AA", (await sign(CLAIMS)).split(".")[2]!])
      await expect(verify(`${head}.${encode(claims)}.${signature}`)).rejects.toMatchObject(INVALID);
  });

  test("by HS256 with the public key as the secret is refused", async () => {
    const jwk = toPublicKey(keys.acme);
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    const secrets = [
      Buffer.from(jwk.x, "base64url"),
      Buffer.from(jwk.x),
      key.export({ type: "spki", format: "pem" }),
      key.export({ type: "spki", format: "der" }),
      Buffer.from(JSON.stringify(jwk)),
    ];
    for (const secret of secrets) {
      const input = `${encode(JSON.stringify({ ...HEADER, alg: "HS256" }))}.${encode(claims)}`;
      const mac = createHmac("sha256", secret).update(input).digest("base64url");
      await expect(verify(`${input}.${mac}`)).rejects.toMatchObject(INVALID);
    }
  });

  test("by another algorithm of signatures is refused", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const token = await new SignJWT(CLAIMS).setProtectedHeader({ ...HEADER, alg: "ES256" }).sign(privateKey);
    await expect(verify(token)).rejects.toMatchObject(INVALID);
  });

  test.each([
    ["the type of every JWT", { typ: "JWT" }],
    ["no type", { typ: undefined }],
    ["no key id", { kid: undefined }],
    ["the key id of another tenant", { kid: "k2" }],
    ["a key id that is a path", { kid: "../k1" }],
    ["the key id __proto__", { kid: "__proto__" }],
    ["a key of its own", { jwk: toPublicKey(keys.stranger) }],
    ["the address of a key", { jku: "https://evil.example/keys" }],
    ["a certificate", { x5u: "https://evil.example/cert" }],
    ["an unencoded payload", { b64: true, crit: ["b64"] }],
  ])("with %s in its header is refused", async (_, change) => {
    await expect(verify(await sign(CLAIMS, { ...HEADER, ...change }))).rejects.toMatchObject(INVALID);
  });

  test("signed by another tenant's key is refused, under every id and for every tenant", async () => {
    for (const kid of ["k1", "k2", "platform"]) {
      const forged = await sign(CLAIMS, { ...HEADER, kid }, keys.beta);
      await expect(verify(forged)).rejects.toMatchObject(INVALID);
    }
    // Its own key serves its own tenant.
    const own = { ...CLAIMS, tid: BETA as string };
    expect(await verify(await sign(own, { ...HEADER, kid: "k2" }, keys.beta))).toMatchObject({
      tenant: BETA,
    });
    await expect(verify(await sign(own, HEADER, keys.acme))).rejects.toMatchObject(INVALID);
    const platform = await sign(own, { ...HEADER, kid: "platform" }, keys.platform);
    expect(await verify(platform)).toMatchObject({ tenant: BETA });
  });

  test.each([
    ["a claim twice", `{"gen":"${OTHER}",${claims.slice(1)}`],
    ["a claim twice, the second escaped", `${claims.slice(0, -1)},"\\u0067en":"${OTHER}"}`],
    ["a claim twice, with blanks before the colon", `{"gen" :"${OTHER}",${claims.slice(1)}`],
    ["the same claim twice", `{"gen":"${ONE}",${claims.slice(1)}`],
    ["an object", `{"x":{"gen":"${OTHER}"},${claims.slice(1)}`],
    ["a prototype", `{"__proto__":{"gen":"${OTHER}"},${claims.slice(1)}`],
    ["a list for an object", `[${claims}]`],
    ["a byte order mark", `\ufeff${claims}`],
    ["a comment", `${claims}//`],
    ["nothing", ""],
  ])("whose claims are %s is refused, though its signature is right", async (_, text) => {
    const header = JSON.stringify(HEADER);
    expect(await verify(await signText(header, claims))).toMatchObject({ generation: ONE });
    await expect(verify(await signText(header, text))).rejects.toMatchObject(INVALID);
  });

  test("whose header has a name twice is refused, though its signature is right", async () => {
    const token = await signText(`{"kid":"k2",${JSON.stringify(HEADER).slice(1)}`, claims);
    await expect(verify(token)).rejects.toMatchObject(INVALID);
  });

  test("that is huge is refused before it is decoded", async () => {
    const huge = encode("x".repeat(1_000_000));
    for (const text of [`${huge}.${huge}.${huge}`, huge, `${await sign(CLAIMS)}.`, ".".repeat(3_000)])
      await expect(verify(text)).rejects.toMatchObject(INVALID);
    const long = await signText(JSON.stringify(HEADER), claims + " ".repeat(TOKEN_LIMITS.length));
    await expect(verify(long)).rejects.toMatchObject(INVALID);
  });

  test("in another writing of the same bytes is refused", async () => {
    const token = await sign(CLAIMS);
    const parts = token.split(".");
    // Of the last character of 64 bytes in base64url four bits mean nothing.
    const last = parts[2]!.at(-1)!;
    const same = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
      .split("")
      .filter((char) => {
        const other = parts[2]!.slice(0, -1) + char;
        return char !== last && Buffer.from(other, "base64url").equals(Buffer.from(parts[2]!, "base64url"));
      });
    expect(same.length).toBe(15);
    for (const char of same) await expect(verify(token.slice(0, -1) + char)).rejects.toMatchObject(INVALID);
    for (const text of [`${token}=`, `${token} `, ` ${token}`, token.replaceAll(".", ". ")])
      await expect(verify(text)).rejects.toMatchObject(INVALID);
  });
});

describe("a revocation", () => {
  const at = new Date(NOW_MS + 500).toISOString();
  const token = (
    jti: string,
    iat: number,
    bound: { gen?: GenerationId; sub?: string },
    tid: TenantId = ACME,
  ) =>
    sign(
      { ...CLAIMS, gen: undefined, ...bound, tid, jti, iat, exp: iat + 60 },
      tid === ACME ? HEADER : { ...HEADER, kid: "k2" },
      tid === ACME ? keys.acme : keys.beta,
    );

  test("of a token ends that one, when it is sent again too", async () => {
    const [one, other] = [await token("t1", NOW, { gen: ONE }), await token("t2", NOW, { gen: ONE })];
    expect(await verify(one)).toMatchObject({ tokenId: "t1" });
    const revocations = [{ kind: "token", value: "t1", at }] as const;
    await expect(verify(one, { revocations })).rejects.toMatchObject(INVALID);
    await expect(verify(one, { revocations })).rejects.toMatchObject(INVALID);
    expect(await verify(other, { revocations })).toMatchObject({ tokenId: "t2" });
  });

  test.each([
    [{ kind: "generation", value: ONE, at } as const, { gen: ONE }, { gen: OTHER }],
    [{ kind: "user", value: "u1", at } as const, { sub: "u1" }, { sub: "u2" }],
  ])("of all tokens of a $kind ends those that were issued up to then", async (revocation, bound, other) => {
    const revocations = [revocation];
    const ends = async (text: string) =>
      await verify(text, { revocations, nowMs: plusMs(NOW_MS, 2_000) }).then(
        () => false,
        () => true,
      );
    expect([
      await ends(await token("t1", NOW - 10, bound)),
      // In the second of the revocation: it may be older or newer.
      await ends(await token("t2", NOW, bound)),
      await ends(await token("t3", NOW + 1, bound)),
      await ends(await token("t4", NOW - 10, other)),
    ]).toEqual([true, true, false, false]);
  });
});

describe("10,000 texts that resemble tokens", () => {
  const names = fc.constantFrom(...Object.keys(CLAIMS), "sub", "nbf", "iss", "__proto__", "constructor", "");
  const values = fc.oneof(fc.constantFrom(...Object.values(CLAIMS)), fc.jsonValue({ maxDepth: 2 }));
  const objects = fc.dictionary(names, values).map((changed) => JSON.stringify({ ...CLAIMS, ...changed }));
  const segment = fc.oneof(
    objects.map(encode),
    fc.constantFrom(encode(JSON.stringify(HEADER)), encode(JSON.stringify(CLAIMS))),
    fc.json().map(encode),
    fc.string({ unit: "binary" }),
    fc.base64String(),
  );
  const texts = fc.oneof(
    fc.array(segment, { maxLength: 5 }).map((parts) => parts.join(".")),
    fc.string({ unit: "binary", maxLength: 3_000 }),
  );

  test("are decoded to claims within the limits, or not at all", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const decoded = decodeToken(text);
        if (!decoded) return;
        const { claims } = decoded;
        const isBound = claims.gen !== undefined || claims.sub !== undefined;
        expect([isBound, claims.exp - claims.iat <= 3_600, claims.scope.length > 0]).toEqual([
          true,
          true,
          true,
        ]);
      }),
      { numRuns: 10_000 },
    );
  });

  test("none is taken without a signature", async () => {
    await fc.assert(
      fc.asyncProperty(objects, fc.base64String({ maxLength: 90 }), async (claims, signature) => {
        const text = `${encode(JSON.stringify(HEADER))}.${encode(claims)}.${signature}`;
        await expect(verify(text)).rejects.toMatchObject(INVALID);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a signature holds for its own text alone", async () => {
    const token = await sign(CLAIMS);
    const change = fc.record({
      at: fc.nat({ max: token.length - 1 }),
      char: fc.constantFrom(..."AQgw04_-.".split("")),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ at, char }) => {
        fc.pre(token[at] !== char);
        await expect(verify(token.slice(0, at) + char + token.slice(at + 1))).rejects.toMatchObject(INVALID);
      }),
      { numRuns: 1_000 },
    );
  });
});
