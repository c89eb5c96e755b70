import { readFile } from "node:fs/promises";
import { RepriseError } from "@reprise/protocol";
import { createSecretFile } from "@reprise/runtime";
import {
  generateSigningKey,
  type PrivateKey,
  privateKeySchema,
  publicJwkSchema,
  type PublicKey,
  toPublicKey,
} from "@reprise/tenancy";

/*
 * Files with a key of Ed25519 as a JWK. No message and no cause holds what was read: it may be a private key.
 */

/** @throws RepriseError `invalid_request` */
export async function readPrivateKey(file: string): Promise<PrivateKey> {
  const key = privateKeySchema.safeParse(await readJson(file));
  if (key.success) return key.data;
  throw new RepriseError(
    "invalid_request",
    `${file} is not a private key of Ed25519 as a JWK with kty, crv, x and d alone.`,
  );
}

/**
 * The public part of a key, whether or not the file has the private one too.
 * @throws RepriseError `invalid_request`
 */
export async function readPublicKey(file: string): Promise<PublicKey> {
  const json = await readJson(file);
  const key = privateKeySchema.safeParse(json).data ?? publicJwkSchema.safeParse(json).data;
  if (key) return toPublicKey(key);
  throw new RepriseError("invalid_request", `${file} is not a key of Ed25519 as a JWK with kty, crv and x.`);
}

/**
 * Makes a key and writes it to a new file that its owner alone can read.
 * @throws RepriseError `invalid_request` when there is such a file, or it can't be written
 */
export async function writeNewKey(file: string): Promise<PublicKey> {
  const key = await generateSigningKey();
  const isMade = await createSecretFile(file, JSON.stringify(key)).catch((cause: unknown) => {
    throw new RepriseError("invalid_request", `${file} can't be written.`, { cause });
  });
  if (isMade) return toPublicKey(key);
  throw new RepriseError("invalid_request", `${file} is there already.`);
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new RepriseError("invalid_request", `${file} can't be read.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
