import { RepriseError } from "@reprise/protocol";
import { ARCHIVE_TREE } from "../commit/commit.ts";
import { checkpointKey } from "../commit/paths.ts";
import type { Keyring } from "../keys/keyring.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import { cosignedAt } from "../note/cosignature.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { type Finding, Findings } from "./finding.ts";
import { TreeClaims } from "./tree-claims.ts";
import { walkCommits } from "./verify-commits.ts";
import { type FileCounts, verifyFiles } from "./verify-files.ts";

export interface VerifyOptions {
  store: BlobStore;
  /** Of the archive. */
  name: string;
  /** Keys that checkpoints may be signed with: with several, the archive's key was changed in between. None: signatures are not checked. */
  vkeys: readonly VerifierKey[];
  /** Witnesses. Each must have cosigned a checkpoint of the archive's own tree. */
  witnesses: readonly VerifierKey[];
  /** Checkpoints that somebody else has kept: the witness, or a tenant. */
  witnessed: readonly { readonly where: string; readonly note: string }[];
  /** Only this tenant's files. The commits are verified all the same. */
  tenant?: string | undefined;
  keyring?: Pick<Keyring, "open"> | undefined;
}

export interface VerifyReport extends FileCounts {
  readonly verdict: Findings["verdict"];
  readonly commits: number;
  readonly files: number;
  readonly findings: readonly Finding[];
}

/**
 * Whether an archive is as it was written: commits, files, trees, signatures, and what witnesses have seen. Reads everything once.
 * @throws RepriseError `archive_unavailable`
 */
export async function verifyArchive(options: VerifyOptions): Promise<VerifyReport> {
  const { store, name, vkeys, tenant, keyring } = options;
  const findings = new Findings();
  const claims = new TreeClaims(name);
  await collectClaims(claims, options, findings);
  if (vkeys.length === 0)
    findings.add("unknown", name, "no key was given that the signatures could be checked with");
  const walked = await walkCommits({ store, name, vkeys, claims, findings });

  if (walked.commits === 0) findings.add("unknown", name, "there is no archive here");
  const counts: FileCounts = { segments: 0, events: 0, destroyed: 0, unopened: 0 };
  let files = 0;
  const live = new Set<string>();
  for (const [each, claimed] of walked.tenants) {
    for (const key of claimed.files.keys()) live.add(key);
    if (tenant !== undefined && each !== tenant) continue;
    const erased = new Set(
      walked.state
        .records(each)
        .flatMap((record) => (record.kind === "erasure_requested" ? record.generations : [])),
    );
    const some = await verifyFiles(each, claimed, {
      store,
      keyring,
      findings,
      broken: walked.broken,
      erased,
    });
    files += claimed.files.size;
    counts.segments += some.segments;
    counts.events += some.events;
    counts.destroyed += some.destroyed;
    counts.unopened += some.unopened;
  }
  if (counts.unopened > 0)
    findings.add("unknown", name, `${counts.unopened} segments have keys that are not at hand`);
  for await (const { key } of store.list("data/"))
    if (!live.has(key)) findings.add("note", key, "is named by no commit, or by none any more");
  return { ...counts, verdict: findings.verdict, commits: walked.commits, files, findings: findings.list };
}

/** What the archive says of itself beside its commits, and what others say of it. */
async function collectClaims(
  claims: TreeClaims,
  { store, name, vkeys, witnesses, witnessed }: VerifyOptions,
  findings: Findings,
): Promise<void> {
  const notes = witnessed.map((one) => ({ ...one, isOwn: false }));
  const own = await store.get(checkpointKey(ARCHIVE_TREE));
  if (own) notes.push({ where: checkpointKey(ARCHIVE_TREE), note: Buffer.from(own).toString(), isOwn: true });
  for await (const { key } of store.list("cosigned/")) {
    const bytes = await store.get(key);
    if (bytes) notes.push({ where: key, note: Buffer.from(bytes).toString(), isOwn: true });
  }
  const heard = new Set<VerifierKey>();
  for (const { where, note } of notes) {
    try {
      const { text, verified } = openNote(note, vkeys);
      const checkpoint = parseCheckpoint(text);
      const cosigners = witnesses.filter((witness) => cosignedAt(note, witness) !== undefined);
      if (vkeys.length > 0 && verified.length === 0)
        findings.add("tampered", where, "is signed by none of the given keys");
      if (!claims.add(where, checkpoint))
        findings.add("unknown", where, `is of ${checkpoint.origin}, which is another archive`);
      else if (checkpoint.origin === `${name}/${ARCHIVE_TREE}`)
        for (const witness of cosigners) heard.add(witness);
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      findings.add("tampered", where, error.message);
    }
  }
  for (const witness of witnesses) {
    if (heard.has(witness)) continue;
    findings.add("unknown", witness.name, "this witness has cosigned no checkpoint that is at hand");
  }
}
