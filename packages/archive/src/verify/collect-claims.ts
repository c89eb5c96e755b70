import { RepriseError } from "@reprise/protocol";
import { ARCHIVE_TREE } from "../commit/commit.ts";
import { checkpointKey, cosignedKey } from "../store/paths.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import { cosignedAt } from "../note/cosignature.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { Findings } from "./finding.ts";
import type { TreeClaims } from "./tree-claims.ts";

export interface ClaimOptions {
  store: BlobStore;
  /** Name of the archive. */
  name: string;
  /** Keys that checkpoints may be signed with: with several, the archive's key was changed in between. None: signatures are not checked. */
  vkeys: readonly VerifierKey[];
  /** Witnesses. Each must have cosigned a checkpoint of the archive's own tree. */
  witnesses: readonly VerifierKey[];
  /** Checkpoints that were kept outside the archive: by a witness, or a tenant. */
  witnessed: readonly { readonly where: string; readonly note: string }[];
}

/** Sizes of the archive's own tree: the largest that is signed, and the largest that each witness has cosigned. */
export interface Collected {
  readonly signed: number;
  readonly heard: ReadonlyMap<VerifierKey, number>;
}

const COSIGNED = cosignedKey("");

interface Note {
  readonly where: string;
  readonly note: string;
  /** Whose checkpoint it has to be; undefined where any tree of the archive will do. */
  readonly tree?: string;
}

/** Collects the claims of the archive apart from its commits, and those of others about it. */
export async function collectClaims(
  claims: TreeClaims,
  { store, name, vkeys, witnesses, witnessed }: ClaimOptions,
  findings: Findings,
): Promise<Collected> {
  let signed = 0;
  const notes: Note[] = [...witnessed, ...(await Array.fromAsync(storedNotes(store)))];
  const heard = new Map<VerifierKey, number>();
  for (const { where, note, tree } of notes) {
    try {
      const { text, verified } = openNote(note, vkeys);
      const checkpoint = parseCheckpoint(text);
      const cosigners = witnesses.filter((witness) => cosignedAt(note, witness) !== undefined);
      if (vkeys.length > 0 && verified.length === 0)
        findings.add("tampered", where, "is signed by none of the given keys");
      // Signed or not: the object of one tree says nothing of another.
      if (tree !== undefined && checkpoint.origin !== `${name}/${tree}`)
        findings.add("tampered", where, `is of ${checkpoint.origin}, not of ${name}/${tree}`);
      else if (!claims.add(where, checkpoint))
        findings.add("unknown", where, `is of ${checkpoint.origin}, which is another archive`);
      else if (checkpoint.origin === `${name}/${ARCHIVE_TREE}`) {
        if (verified.length > 0) signed = Math.max(signed, checkpoint.size);
        for (const witness of cosigners)
          heard.set(witness, Math.max(heard.get(witness) ?? 0, checkpoint.size));
      }
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      findings.add("tampered", where, error.message);
    }
  }
  for (const witness of witnesses) {
    if (heard.has(witness)) continue;
    findings.add("unknown", witness.name, "this witness has cosigned no checkpoint that is at hand");
  }
  return { signed, heard };
}

/** The checkpoints in the store, each under the name of its tree. */
async function* storedNotes(store: BlobStore): AsyncGenerator<Note> {
  const cosigned = (await Array.fromAsync(store.list(COSIGNED))).map(({ key }) => key);
  for (const key of [checkpointKey(ARCHIVE_TREE), ...cosigned]) {
    const bytes = await store.get(key);
    const tree = key.slice(key.indexOf("/") + 1);
    if (bytes) yield { where: key, note: Buffer.from(bytes).toString(), tree };
  }
}
