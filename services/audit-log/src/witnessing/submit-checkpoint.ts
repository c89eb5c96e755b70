import {
  consistencyProof,
  encodeSignature,
  type HashReader,
  parseNote,
  encodeAddCheckpoint,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";

/** The witness can't be reached, refuses, or says what no witness says: the archive is not to blame. */
export class WitnessError extends RepriseError {}

export interface SubmitOptions {
  /** URL of the witness: the prefix of its paths. */
  url: string;
  origin: string;
  /** The signed checkpoint. */
  note: string;
  /** Size of the checkpoint's tree. */
  size: number;
  hashes: HashReader;
  /** Last size that the witness has seen, as far as known: a wrong size costs one more request. */
  seenSize: number;
  timeoutMs: number;
  signal: AbortSignal;
}

export type Submission =
  /** Cosignatures to append to the note. Not verified: a verifier has the witness's key. */
  | { readonly kind: "cosigned"; readonly lines: string }
  /** It has cosigned a larger tree. */
  | { readonly kind: "ahead"; readonly size: number }
  /** It has cosigned a tree that is not a prefix of this one. */
  | { readonly kind: "differs"; readonly seenSize: number };

/** While no other process submits the same log's checkpoints at the same time, two are enough. */
const TRIES = 5;
const MAX_ANSWER_BYTES = 64 * 1_024;
/** A time and an Ed25519 signature. */
const COSIGNATURE_BYTES = 8 + 64;

/**
 * Submits a checkpoint to a witness, with the proof that it extends the last one that the witness has seen.
 * @throws WitnessError `archive_unavailable` while it can't be reached, `config_invalid` when it does not know the log; RepriseError those of `hashes`
 */
export async function submitCheckpoint(options: SubmitOptions): Promise<Submission> {
  const { size, hashes, note } = options;
  let seenSize = Math.min(options.seenSize, size);
  for (let i = 0; i < TRIES; i++) {
    const proof = await consistencyProof(seenSize, size, hashes);
    const { status, body } = await post(encodeAddCheckpoint({ oldSize: seenSize, proof, note }), options);
    if (status === 200) return { kind: "cosigned", lines: takeCosignatures(note, body, options) };
    if (status === 422) return { kind: "differs", seenSize };
    if (status !== 409) throw refusal(status, options);
    const said = /^(0|[1-9][0-9]{0,14})\n$/.exec(body)?.[1];
    if (said === undefined) throw refusal(status, options);
    if (Number(said) > size) return { kind: "ahead", size: Number(said) };
    if (Number(said) === seenSize) return { kind: "differs", seenSize };
    seenSize = Number(said);
  }
  throw new WitnessError("archive_unavailable", `Others submit ${options.origin} to ${options.url} too.`);
}

async function post(
  body: string,
  { url, timeoutMs, signal }: SubmitOptions,
): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(`${url.replace(/\/$/, "")}/add-checkpoint`, {
      method: "POST",
      body,
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    return { status: response.status, body: await readText(response) };
  } catch (cause) {
    signal.throwIfAborted();
    throw new WitnessError("archive_unavailable", `The witness ${url} does not answer.`, { cause });
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new RangeError(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * The cosignatures of an answer. Other lines are left out: one that names a key of the note itself, and is wrong, would make the
 * note look forged to every verifier.
 */
function takeCosignatures(note: string, lines: string, { url }: SubmitOptions): string {
  const own = parseNote(note).signatures;
  try {
    const cosignatures = parseNote(`\n\n${lines}`).signatures.filter(
      ({ name, keyId, signature }) =>
        signature.length === COSIGNATURE_BYTES &&
        !own.some((one) => one.name === name && one.keyId.equals(keyId)),
    );
    if (cosignatures.length > 0)
      return cosignatures.map((one) => encodeSignature(one, one.signature)).join("");
  } catch (cause) {
    throw new WitnessError("config_invalid", `${url} answers with what no witness says.`, { cause });
  }
  throw new WitnessError("config_invalid", `${url} answers without a cosignature.`);
}

function refusal(status: number, { url, origin }: SubmitOptions): WitnessError {
  if (status >= 500 || status === 429)
    return new WitnessError("archive_unavailable", `The witness ${url} answers with ${status}.`);
  const advice = status === 404 || status === 403 ? " Does it have the archive's vkey?" : "";
  return new WitnessError("config_invalid", `The witness ${url} refuses ${origin}: ${status}.${advice}`);
}
