import { COSIGNATURE, type NoteKey, type VerifierKey } from "./note-key.ts";
import { encodeSignature, parseNote } from "./signed-note.ts";

/*
 * cosignature/v1 of https://c2sp.org/tlog-cosignature: a witness says that it has seen a checkpoint, when, and that it follows from all
 * that it has seen before. The signature is the time as eight bytes and an Ed25519 signature of that time and the checkpoint.
 */

const TIME_BYTES = 8;

/** A signature line for a checkpoint. @param atSeconds since 1970 */
export function cosign(checkpointText: string, key: NoteKey, atSeconds: number): string {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(BigInt(atSeconds));
  return encodeSignature(key, Buffer.concat([time, key.sign(toMessage(checkpointText, atSeconds))]));
}

/** When a witness has cosigned a note, in seconds since 1970; undefined when it has not, or the signature is wrong. */
export function cosignedAt(note: string, witness: VerifierKey): number | undefined {
  if (witness.algorithm !== COSIGNATURE) return undefined;
  const { text, signatures } = parseNote(note);
  for (const { name, keyId, signature } of signatures) {
    if (name !== witness.name || !keyId.equals(witness.keyId) || signature.length <= TIME_BYTES) continue;
    const atSeconds = Number(signature.readBigUInt64BE());
    if (witness.verify(toMessage(text, atSeconds), signature.subarray(TIME_BYTES))) return atSeconds;
  }
  return undefined;
}

function toMessage(checkpointText: string, atSeconds: number): Uint8Array {
  return Buffer.from(`cosignature/v1\ntime ${atSeconds}\n${checkpointText}`);
}
