import { RepriseError } from "@reprise/protocol";
import { encodeCheckpoint, parseCheckpoint } from "../note/checkpoint.ts";
import type { NoteKey, VerifierKey } from "../note/note-key.ts";
import { openNote, signNote } from "../note/signed-note.ts";
import { sha256 } from "./hashes.ts";

/** The object that a signature names. */
export interface SignedSubject {
  /** `<archive>/.commit` or `<archive>/.snapshot`: no tree is called so. */
  readonly origin: string;
  /** The number of a commit, or for a snapshot the number of commits. */
  readonly n: number;
}

/** An object as JSON, with a signed note of the rest as its last field: origin, `n` and hash, in the form of a checkpoint. */
export function signJson<T extends object>(
  body: T,
  { origin, n }: SignedSubject,
  signer: NoteKey,
): T & { signed: string } {
  const root = sha256(Buffer.from(JSON.stringify(body)));
  return { ...body, signed: signNote(encodeCheckpoint({ origin, size: n, root }), [signer]) };
}

/** True if one of the keys has signed the object. @param bytes as stored @param signed the last field of the object */
export function isSignedJson(
  bytes: Uint8Array,
  signed: string,
  { origin, n }: SignedSubject,
  keys: readonly VerifierKey[],
): boolean {
  const field = Buffer.from(`,"signed":${JSON.stringify(signed)}}`);
  const at = bytes.length - field.length;
  if (at <= 0 || Buffer.compare(bytes.subarray(at), field) !== 0) return false;
  const root = sha256(Buffer.concat([bytes.subarray(0, at), Buffer.from("}")]));
  try {
    const { text, verified } = openNote(signed, keys);
    const said = parseCheckpoint(text);
    return (
      verified.length > 0 &&
      said.origin === origin &&
      said.size === n &&
      Buffer.compare(said.root, root) === 0
    );
  } catch (error) {
    if (error instanceof RepriseError) return false;
    throw error;
  }
}
