import { RepriseError } from "@reprise/protocol";
import { type CryptoKey, exportJWK, generateKeyPair, importJWK } from "jose";
import * as z from "zod";
import { keyIdSchema, TOKEN_ALGORITHM } from "./claims.ts";
import type { PublicKey } from "./public-key.ts";

const coordinate = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, "must be 32 bytes in base64url, 43 characters")
  .refine(
    (text) => Buffer.from(text, "base64url").toString("base64url") === text,
    "is not canonical base64url",
  );
const publicCoordinate = coordinate.refine(
  (text) => !isSmallOrder(text),
  "is a point of small order, for which anybody can sign",
);

/**
 * A public key of Ed25519 as a JWK. Strict: a JWK with `d` holds the private key, which must not leave its owner, and is refused.
 * `use`, `alg` and `kid`, which tools add, may be there where they say the same.
 */
export const publicJwkSchema = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: publicCoordinate,
  use: z.literal("sig").optional(),
  alg: z.enum(["EdDSA", "Ed25519"]).optional(),
  kid: keyIdSchema.optional(),
  key_ops: z.array(z.literal("verify")).max(1).optional(),
  ext: z.boolean().optional(),
});

export const privateKeySchema = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: coordinate,
  d: coordinate,
});
export type PrivateKey = z.infer<typeof privateKeySchema>;

/** A new pair of keys, the private one with the public one in it. */
export async function generateSigningKey(): Promise<PrivateKey> {
  const { privateKey } = await generateKeyPair(TOKEN_ALGORITHM, { crv: "Ed25519", extractable: true });
  return privateKeySchema.parse(await exportJWK(privateKey));
}

export function toPublicKey({ kty, crv, x }: PublicKey): PublicKey {
  return { kty, crv, x };
}

/** By the JWK itself: a tenant's record that changes brings new ones, and the old are forgotten with it. */
const imported = new WeakMap<PublicKey, Promise<CryptoKey>>();

/** The key as Web Crypto has it, imported once. */
export function importPublicKey(jwk: PublicKey): Promise<CryptoKey> {
  let key = imported.get(jwk);
  if (!key) {
    key = importKey({ ...jwk });
    imported.set(jwk, key);
  }
  return key;
}

export function importPrivateKey(jwk: PrivateKey): Promise<CryptoKey> {
  return importKey({ ...jwk });
}

async function importKey(jwk: Record<string, unknown>): Promise<CryptoKey> {
  const key = await importJWK(jwk, TOKEN_ALGORITHM);
  if (!(key instanceof Uint8Array)) return key;
  throw new RepriseError("internal", "A signing key was imported as a secret.");
}

/**
 * The y coordinates of Ed25519's points whose order divides 8, little-endian without the bit of x's sign, those that are not reduced among them. By such a
 * key anybody can sign, where a library does not refuse it itself as OpenSSL 3.5 does: its multiples are few.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

const SIGN_BIT = 0x80;

/** @param x a public key of Ed25519 as its JWK has it, in base64url */
export function isSmallOrder(x: string): boolean {
  const bytes = Buffer.from(x, "base64url");
  const last = bytes.at(-1);
  if (last === undefined) return false;
  bytes[bytes.length - 1] = last & ~SIGN_BIT;
  return SMALL_ORDER.has(bytes.toString("hex"));
}
