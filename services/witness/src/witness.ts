import {
  type BlobStore,
  type Checkpoint,
  cosign,
  EMPTY_ROOT,
  encodeSignature,
  type NoteKey,
  openNote,
  parseCheckpoint,
  parseNote,
  type VerifierKey,
  verifyConsistency,
  type AddCheckpoint,
  parseAddCheckpoint,
  seenKey,
} from "@reprise/archive";
import { RepriseError, type UnixMs, unixNow } from "@reprise/protocol";

export type AddOutcome =
  /** Signature lines, with their newlines. */
  | { readonly kind: "cosigned"; readonly lines: string }
  /** No trusted log may sign for this origin. */
  | { readonly kind: "unknown_log" }
  /** The log has not signed it, or the signature is wrong. */
  | { readonly kind: "unsigned" }
  /** The witness has seen a tree of this size last, and the proof begins with another size; or the checkpoint has another root for it. */
  | { readonly kind: "conflict"; readonly size: number }
  /** The tree does not continue from the one that the witness has seen: the log was rolled back, or there are two. */
  | { readonly kind: "inconsistent" }
  | { readonly kind: "malformed" };

export interface Witness {
  /** @throws RepriseError `archive_unavailable`, `archive_corrupt` when what it has seen can't be read or kept: it then cosigns nothing */
  add(body: string): Promise<AddOutcome>;
  /**
   * The newest checkpoint that it has cosigned, with the log's signatures and its own.
   * @param path the origin as it is in a URL's path
   */
  latest(path: string): Promise<string | undefined>;
}

export interface WitnessOptions {
  /** Where it keeps what it has seen. No other process may write there: two witnesses with one key could cosign two histories. */
  store: Pick<BlobStore, "get" | "put">;
  /** Its own, for cosignatures. */
  key: NoteKey;
  /** Whose origins begin with their key's name. Several of one name are one log whose key has changed. */
  logs: readonly VerifierKey[];
  /** Milliseconds since 1970. Default: the clock. */
  now?: () => UnixMs;
}

/**
 * Remembers checkpoints. It cosigns one only when all that it has cosigned before is part of it, so a log that loses its end, or
 * shows two histories, gets no cosignature. What it cosigns is durable before its cosignature is returned.
 */
export function createWitness({ store, key, logs, now = unixNow }: WitnessOptions): Witness {
  /** The last call of each origin that has any: to compare and to remember is one step. */
  const turns = new Map<string, Promise<unknown>>();
  const keysOf = (origin: string) =>
    logs.filter(({ name }) => origin === name || origin.startsWith(`${name}/`));

  const readNewest = async (origin: string): Promise<string | undefined> => {
    const bytes = await store.get(seenKey(origin));
    return bytes && Buffer.from(bytes).toString();
  };
  /** The empty tree where it has seen none. A memory that can't be read is never taken for that. */
  const remembered = async (origin: string): Promise<Checkpoint> => {
    const note = await readNewest(origin);
    if (note === undefined) return { origin, size: 0, root: EMPTY_ROOT };
    const checkpoint = parseCheckpoint(openNote(note, []).text);
    if (checkpoint.origin === origin) return checkpoint;
    throw new RepriseError(
      "archive_corrupt",
      `The stored checkpoint of ${origin} names the origin ${checkpoint.origin}.`,
    );
  };
  const compare = async (next: Checkpoint, text: string, request: AddCheckpoint): Promise<AddOutcome> => {
    const seen = await remembered(next.origin);
    const { oldSize, proof } = request;
    const isOther = next.size === seen.size && Buffer.compare(next.root, seen.root) !== 0;
    if (oldSize !== seen.size || isOther) return { kind: "conflict", size: seen.size };
    const claim = { oldSize, oldRoot: seen.root, newSize: next.size, newRoot: next.root, proof };
    if (!verifyConsistency(claim)) return { kind: "inconsistent" };
    const lines = cosign(text, key, Math.floor(now() / 1_000));
    const signed = keepSignatures(request.note, keysOf(next.origin));
    await store.put(seenKey(next.origin), Buffer.from(`${signed}${lines}`));
    return { kind: "cosigned", lines };
  };

  return {
    async add(body) {
      const read = readRequest(body);
      if (!read) return { kind: "malformed" };
      const { request, text, checkpoint } = read;
      const keys = keysOf(checkpoint.origin);
      if (keys.length === 0) return { kind: "unknown_log" };
      if (!isSigned(request.note, keys)) return { kind: "unsigned" };
      if (request.oldSize > checkpoint.size) return { kind: "malformed" };
      return takeTurn(turns, checkpoint.origin, () => compare(checkpoint, text, request));
    },
    async latest(path) {
      const origin = decodeOrigin(path);
      return origin === undefined ? undefined : readNewest(origin);
    },
  };
}

function readRequest(body: string) {
  try {
    const request = parseAddCheckpoint(body);
    const { text } = openNote(request.note, []);
    return { request, text, checkpoint: parseCheckpoint(text) };
  } catch (error) {
    if (error instanceof RepriseError) return undefined;
    throw error;
  }
}

function isSigned(note: string, keys: readonly VerifierKey[]): boolean {
  try {
    return openNote(note, keys).verified.length > 0;
  } catch (error) {
    if (error instanceof RepriseError) return false;
    throw error;
  }
}

/** The note with the signatures of these keys alone: a witness can't say of others whether they are right. */
function keepSignatures(note: string, keys: readonly VerifierKey[]): string {
  const { text, signatures } = parseNote(note);
  const lines = signatures
    .filter((one) => keys.some(({ name, keyId }) => name === one.name && keyId.equals(one.keyId)))
    .map((one) => encodeSignature(one, one.signature));
  return `${text}\n${lines.join("")}`;
}

async function takeTurn<T>(
  turns: Map<string, Promise<unknown>>,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const done = (turns.get(name) ?? Promise.resolve()).then(work);
  const settled = done.catch(() => {});
  turns.set(name, settled);
  try {
    return await done;
  } finally {
    if (turns.get(name) === settled) turns.delete(name);
  }
}

/** Undefined for what is no part of a URL. */
function decodeOrigin(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
