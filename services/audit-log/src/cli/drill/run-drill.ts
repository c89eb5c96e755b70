import { randomBytes } from "node:crypto";
import {
  ARCHIVE_TREE,
  type BlobStore,
  checkpointKey,
  COSIGNATURE,
  cosign,
  createNoteKey,
  parseNote,
  type VerifierKey,
  verifyArchive,
  type VerifyReport,
} from "@reprise/archive";
import { RepriseError, unixNow } from "@reprise/protocol";
import type { DrilledArchive } from "./drilled-archive.ts";
import { NotApplicable } from "./forgery.ts";
import { createOverlay } from "./overlay-store.ts";
import { makeSmallArchive } from "./small-archive.ts";
import { FORGERIES, HIDDEN_GAP } from "./forgeries.ts";
import { RESEALED } from "./resealed.ts";
import { TAMPERINGS } from "./tamperings.ts";

/** What became of one tampering, or of an archive that was left alone. */
export interface DrillResult {
  readonly name: string;
  readonly expected: VerifyReport["verdict"];
  /** Undefined when the archive has nothing that could be tampered with like this. */
  readonly verdict: VerifyReport["verdict"] | undefined;
  /** The first thing that verifying says of it. */
  readonly because: string;
}

/**
 * Tampers with copies of an archive in every way it knows, and verifies each. Copies are in memory; the archive is not touched. A witness of
 * the drill's own cosigns it first.
 */
export async function* drillArchive(archive: DrilledArchive): AsyncGenerator<DrillResult> {
  const witnessed = await cosignEnd(archive.store);
  const whole = await judge("nothing is changed", "fine", archive, witnessed);
  yield whole;
  if (whole.verdict !== "fine") return;
  for (const tampering of [...TAMPERINGS, ...FORGERIES, RESEALED]) {
    const { name, expected = "tampered", isSealed } = tampering;
    const store = createOverlay(archive.store);
    try {
      await tampering.apply(store, archive);
    } catch (error) {
      if (!(error instanceof NotApplicable)) throw error;
      yield { name, expected, verdict: undefined, because: error.message };
      continue;
    }
    const { keyring, ...copy } = { ...archive, store };
    if (isSealed && keyring) {
      // It was so when the witness saw it: nothing but opening tells, which takes most of the time of verifying.
      yield await judge(name, expected, { ...copy, keyring }, await cosignEnd(store));
    } else yield await judge(name, expected, copy, witnessed);
  }
}

/** The same with small archives that it makes itself: one of them has a gap. */
export async function* drillSmallArchive(): AsyncGenerator<DrillResult> {
  yield* drillArchive(await makeSmallArchive());
  const gap = await makeSmallArchive({ gapAt: 40 });
  const name = "messages had expired before they were archived";
  const witnessed = await cosignEnd(gap.store);
  yield await judge(name, "gap", gap, witnessed);
  const store = createOverlay(gap.store);
  await HIDDEN_GAP.apply(store);
  yield await judge(HIDDEN_GAP.name, "tampered", { ...gap, store }, witnessed);
}

/** What a witness has seen. */
export interface Witnessed {
  readonly witness: VerifierKey;
  readonly note: string;
}

export async function cosignEnd(store: BlobStore): Promise<Witnessed> {
  const checkpoint = await store.get(checkpointKey(ARCHIVE_TREE));
  if (!checkpoint) throw new RepriseError("archive_unavailable", "There is no archive here.");
  const note = Buffer.from(checkpoint).toString();
  const witness = createNoteKey("drill-witness", randomBytes(32), COSIGNATURE);
  return { witness, note: `${note}${cosign(parseNote(note).text, witness, Math.floor(unixNow() / 1_000))}` };
}

export async function judge(
  name: string,
  expected: DrillResult["expected"],
  archive: DrilledArchive,
  { witness, note }: Witnessed,
): Promise<DrillResult> {
  const { verdict, findings } = await verifyArchive({
    store: archive.store,
    name: archive.name,
    vkeys: [archive.vkey],
    witnesses: [witness],
    witnessed: [{ where: "witness", note }],
    keyring: archive.keyring,
  });
  const telling = findings.find(({ kind }) => kind === verdict);
  return { name, expected, verdict, because: telling ? `${telling.where}: ${telling.message}` : "" };
}
