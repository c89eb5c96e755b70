import { ARCHIVE_TREE } from "../commit/commit.ts";
import { checkpointKey } from "../store/paths.ts";
import type { ArchiveRecord, BlobCopy } from "../commit/record.ts";
import { COPIES, isPartOf, parsePartKey } from "../copies/copy-keys.ts";
import type { Keyring } from "../keys/keyring.ts";
import { type Checkpoint, parseCheckpoint } from "../note/checkpoint.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import { type ClaimOptions, type Collected, collectClaims } from "./collect-claims.ts";
import { type Finding, Findings } from "./finding.ts";
import { TreeClaims } from "./tree-claims.ts";
import { walkCommits, type WalkedCommits } from "./verify-commits.ts";
import { verifyCopies } from "./verify-copies.ts";
import { type FileCounts, type FileOptions, verifyFiles } from "./verify-files.ts";

export interface VerifyOptions extends ClaimOptions {
  /** Only this tenant's files. The commits are verified all the same. */
  tenant?: string | undefined;
  /** Only files that this commit or a later one has named. Whether older segments are all there is not told then. */
  since?: number | undefined;
  keyring?: Pick<Keyring, "open"> | undefined;
}

export interface VerifyReport extends FileCounts {
  readonly verdict: Findings["verdict"];
  readonly commits: number;
  /** Copies of blobs that were looked at. */
  readonly copies: number;
  readonly findings: readonly Finding[];
}

const COUNTED = ["files", "segments", "events", "destroyed", "unopened"] as const;

/**
 * Verifies that an archive is as it was written: commits, files, trees, signatures, and the claims of witnesses. Reads everything once.
 * @throws RepriseError `archive_unavailable`
 */
export async function verifyArchive(options: VerifyOptions): Promise<VerifyReport> {
  const { store, name, vkeys, tenant, since = 0, keyring } = options;
  const findings = new Findings();
  const claims = new TreeClaims(name);
  const collected = await collectClaims(claims, options, findings);
  if (vkeys.length === 0)
    findings.add("unknown", name, "no key was given that the signatures could be checked with");
  const walked = await walkCommits({ store, name, vkeys, claims, findings });

  if (walked.commits === 0) findings.add("unknown", name, "there is no archive here");
  else await checkCoverage(walked, collected, options, findings);
  checkSelection(walked, options, findings);
  const counts: FileCounts = { files: 0, segments: 0, events: 0, destroyed: 0, unopened: 0 };
  const live = new Set<string>();
  const kept = new Map<string, BlobCopy>();
  let copies = 0;
  for (const [each, claimed] of walked.tenants) {
    for (const key of claimed.files.keys()) live.add(key);
    for (const [key, copy] of walked.state.copies(each)) kept.set(key, copy);
    if (tenant !== undefined && each !== tenant) continue;
    const erasures = declaredErasures(walked.state.records(each));
    const { broken } = walked;
    const how = { store, keyring, findings, broken, since, ...erasures };
    const some = await verifyFiles(each, claimed, how);
    copies += await verifyCopies(each, claimed.copies, how);
    for (const field of COUNTED) counts[field] += some[field];
  }
  if (counts.unopened > 0)
    findings.add("unknown", name, `${counts.unopened} segments have keys that are not at hand`);
  for await (const { key } of store.list("data/"))
    if (!live.has(key)) findings.add("note", key, "is named by no commit, or by none any more");
  for await (const { key } of store.list(COPIES)) {
    const part = parsePartKey(key);
    const copy = part && kept.get(part.key);
    if (!part || !copy || !isPartOf(copy, part))
      findings.add("note", key, "is named by no commit, or by none any more");
  }
  return { ...counts, copies, verdict: findings.verdict, commits: walked.commits, findings: findings.list };
}

/** A name or a number that selects nothing is more likely wrong than meant: what was not verified is not reported as fine. */
function checkSelection(
  { commits, tenants }: WalkedCommits,
  { name, tenant, since = 0 }: VerifyOptions,
  findings: Findings,
): void {
  if (tenant !== undefined && !tenants.has(tenant))
    findings.add("unknown", name, `nothing verified: no commit names the tenant ${tenant}`);
  if (since > 0 && since >= commits)
    findings.add(
      "unknown",
      name,
      `nothing verified: there are ${commits} commits, and none from ${since} on`,
    );
}

/**
 * Checks that commits are signed by a checkpoint of the archive's own tree; the checkpoints in a commit are of tenants' trees, and do not cover its lane. The
 * archiver signs after each commit, so one that has died in between leaves a commit that is not signed yet.
 */
async function checkCoverage(
  { commits, state }: WalkedCommits,
  { signed, heard }: Collected,
  { store, name, vkeys }: VerifyOptions,
  findings: Findings,
): Promise<void> {
  for (const [{ name: witness }, size] of heard)
    if (size < commits) findings.add("note", witness, `has not seen the last ${commits - size} commits`);
  if (vkeys.length === 0 || signed >= commits) return;
  const key = checkpointKey(ARCHIVE_TREE);
  const now = openCheckpoint(await store.get(key), vkeys);
  if (now && now.origin === `${name}/${ARCHIVE_TREE}` && now.size === commits) {
    if (Buffer.compare(now.root, state.archiveTree.root()) !== 0)
      findings.add("tampered", key, `the ${commits} commits are others`);
  } else if (now && now.size > commits && signed > 0)
    findings.add("note", name, "is being written to: what was committed meanwhile is not looked at");
  else {
    const unsigned = `the last ${commits - signed} of ${commits} commits are not signed`;
    findings.add("unknown", key, `${unsigned}; verify again if the archive is being written to`);
  }
}

/** Undefined unless it is signed with one of the keys. */
function openCheckpoint(note: Uint8Array | undefined, vkeys: readonly VerifierKey[]): Checkpoint | undefined {
  try {
    const { text, verified } = openNote(Buffer.from(note ?? []).toString(), vkeys);
    return verified.length > 0 ? parseCheckpoint(text) : undefined;
  } catch {
    // What is wrong with it was found before.
    return undefined;
  }
}

/** Returns the erasures that a tenant's records declare, finished or not. */
function declaredErasures(records: readonly ArchiveRecord[]): Pick<FileOptions, "erased" | "destroyedKids"> {
  const erased = new Set<string>();
  const destroyedKids = new Set<string>();
  for (const record of records) {
    if (record.kind === "erasure_requested") for (const id of record.generations) erased.add(id);
    if (record.kind === "key_destroyed") for (const kid of record.kids) destroyedKids.add(kid);
  }
  return { erased, destroyedKids };
}
