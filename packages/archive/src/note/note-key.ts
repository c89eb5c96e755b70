import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  randomBytes,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import { RepriseError } from "@reprise/protocol";

/*
 * Keys of C2SP signed notes, https://c2sp.org/signed-note. A verifier key is `<name>+<key id, hex>+<base64 of the algorithm's byte and the
 * public key>`; a signing key is `PRIVATE+KEY+` and the same, with the seed in place of the public key.
 */

/** The signed content: 0x01 the note's text; 0x04 a cosignature of a checkpoint, with the time. */
export const ED25519 = 0x01;
export const COSIGNATURE = 0x04;
const ALGORITHMS = [ED25519, COSIGNATURE] as const;
export type NoteAlgorithm = (typeof ALGORITHMS)[number];

const SEED_BYTES = 32;
const PUBLIC_KEY_BYTES = 32;
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
const SIGNING_PREFIX = "PRIVATE+KEY+";

/** The public part of a key. */
export interface VerifierKey {
  readonly name: string;
  /** The first four bytes of a hash of name, algorithm and public key. */
  readonly keyId: Buffer;
  readonly algorithm: NoteAlgorithm;
  /** Its text form. */
  readonly vkey: string;
  verify(message: Uint8Array, signature: Uint8Array): boolean;
}

export interface NoteKey extends VerifierKey {
  /** Its text form: a secret. */
  readonly skey: string;
  sign(message: Uint8Array): Uint8Array;
}

/** @param seed 32 random bytes; new ones by default */
export function createNoteKey(
  name: string,
  seed: Uint8Array = randomBytes(SEED_BYTES),
  algorithm: NoteAlgorithm = ED25519,
): NoteKey {
  assertName(name);
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey);
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(SPKI.length);
  const verifier = toVerifier(name, algorithm, raw, publicKey);
  const secret = Buffer.concat([Uint8Array.of(algorithm), seed]).toString("base64");
  return {
    ...verifier,
    skey: `${SIGNING_PREFIX}${name}+${verifier.keyId.toString("hex")}+${secret}`,
    sign: (message) => signBytes(null, message, privateKey),
  };
}

/** @throws RepriseError `config_invalid`, which does not repeat the key */
export function parseNoteKey(skey: string): NoteKey {
  const { name, keyId, algorithm, bytes } = parseKey(skey.trim(), SIGNING_PREFIX);
  if (bytes.length !== SEED_BYTES) throw malformed();
  const key = createNoteKey(name, bytes, algorithm);
  if (!key.keyId.equals(keyId)) throw malformed();
  return key;
}

/** @throws RepriseError `config_invalid` */
export function parseVerifierKey(vkey: string): VerifierKey {
  const { name, keyId, algorithm, bytes } = parseKey(vkey.trim(), "");
  if (bytes.length !== PUBLIC_KEY_BYTES) throw malformed();
  const publicKey = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: "der", type: "spki" });
  const verifier = toVerifier(name, algorithm, bytes, publicKey);
  if (!verifier.keyId.equals(keyId)) throw malformed();
  return verifier;
}

function toVerifier(
  name: string,
  algorithm: NoteAlgorithm,
  raw: Uint8Array,
  publicKey: KeyObject,
): VerifierKey {
  const typed = Buffer.concat([Uint8Array.of(algorithm), raw]);
  const keyId = hash("sha256", Buffer.concat([Buffer.from(`${name}\n`), typed]), "buffer").subarray(0, 4);
  return {
    name,
    keyId,
    algorithm,
    vkey: `${name}+${keyId.toString("hex")}+${typed.toString("base64")}`,
    verify: (message, signature) => verifyBytes(null, message, publicKey, signature),
  };
}

function parseKey(text: string, prefix: string) {
  // The last part is base64 and may hold a plus sign, the name may not.
  const [, name, keyId, typedText = ""] =
    /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text.slice(prefix.length)) ?? [];
  const typed = Buffer.from(typedText, "base64");
  const algorithm = ALGORITHMS.find((one) => one === typed[0]);
  if (!text.startsWith(prefix) || name === undefined || keyId === undefined || algorithm === undefined)
    throw malformed();
  return {
    name,
    keyId: Buffer.from(keyId, "hex"),
    algorithm,
    bytes: typed.subarray(1),
  };
}

function assertName(name: string): void {
  if (name === "" || /[\s+]/.test(name))
    throw new TypeError(`"${name}" can't name a key: blanks and "+" are not allowed`);
}

function malformed(): RepriseError {
  return new RepriseError("config_invalid", "A key of signed notes is malformed.");
}
