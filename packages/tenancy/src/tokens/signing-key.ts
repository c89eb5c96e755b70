import { RepriseError } from "@reprise/protocol";
import { type CryptoKey, exportJWK, generateKeyPair, importJWK } from "jose";
import * as z from "zod";
import { keyIdSchema, TOKEN_ALGORITHM } from "./claims.ts";
import type { PublicKey } from "./public-key.ts";
import { isSmallOrder } from "./small-order.ts";

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
