import { RepriseError } from "@reprise/protocol";
import { ED25519, type NoteKey, type VerifierKey } from "./note-key.ts";

/*
 * A C2SP signed note: a text that ends with a newline, an empty line, and signature lines `— <name> <base64 of key id and signature>`.
 * Signatures of unknown keys are passed over.
 */

/** One signature line. */
export interface NoteSignature {
  readonly name: string;
  readonly keyId: Buffer;
  readonly signature: Buffer;
}

export interface ParsedNote {
  /** With its newline at the end. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

const DASH = "— ";
const KEY_ID_BYTES = 4;
const MAX_SIGNATURES = 64;

/** @param text must end with a newline and hold no empty line at its end */
export function signNote(text: string, keys: readonly NoteKey[]): string {
  const message = Buffer.from(text);
  const lines = keys.map((key) => encodeSignature(key, key.sign(message)));
  return `${text}\n${lines.join("")}`;
}

/** A signature's line, with its newline. */
export function encodeSignature(key: Pick<VerifierKey, "name" | "keyId">, signature: Uint8Array): string {
  return `${DASH}${key.name} ${Buffer.concat([key.keyId, signature]).toString("base64")}\n`;
}

/** @throws RepriseError `archive_corrupt` for what is no note */
export function parseNote(note: string): ParsedNote {
  const split = note.lastIndexOf("\n\n");
  if (split < 0 || !note.endsWith("\n")) throw malformed();
  const lines = note.slice(split + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw malformed();
  return { text: note.slice(0, split + 1), signatures: lines.map(parseSignature) };
}

/**
 * The text of a note, and who of these has signed it.
 * @throws RepriseError `archive_corrupt` for what is no note, and when a signature of one of these keys is wrong
 */
export function openNote(
  note: string,
  verifiers: readonly VerifierKey[],
): { text: string; verified: VerifierKey[] } {
  const { text, signatures } = parseNote(note);
  const message = Buffer.from(text);
  const verified = verifiers.filter((key) => {
    if (key.algorithm !== ED25519) return false;
    const mine = signatures.filter(({ name, keyId }) => name === key.name && keyId.equals(key.keyId));
    if (!mine.every(({ signature }) => key.verify(message, signature)))
      throw new RepriseError("archive_corrupt", `A signature of ${key.name} is wrong.`);
    return mine.length > 0;
  });
  return { text, verified };
}

function parseSignature(line: string): NoteSignature {
  const [name, encoded, ...rest] = line.startsWith(DASH) ? line.slice(DASH.length).split(" ") : [];
  const bytes = Buffer.from(encoded ?? "", "base64");
  const isOne = bytes.length > KEY_ID_BYTES && bytes.toString("base64") === encoded;
  if (!name || rest.length > 0 || !isOne) throw malformed();
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) };
}

function malformed(): RepriseError {
  return new RepriseError("archive_corrupt", "A signed note is malformed.");
}
