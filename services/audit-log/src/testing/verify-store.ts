import {
  type BlobStore,
  createNoteKey,
  type Finding,
  parseVerifierKey,
  verifyArchive,
} from "@reprise/archive";
import { SIGNING_SEED } from "./test-keys.ts";

/** What is wrong with an archive of tests, without its keys. Files that nobody names are no harm. */
export async function verifyStore(store: BlobStore): Promise<readonly Finding[]> {
  const vkeys = [parseVerifierKey(createNoteKey("test", SIGNING_SEED).vkey)];
  const { findings } = await verifyArchive({ store, name: "test", vkeys, witnesses: [], witnessed: [] });
  return findings.filter(({ kind }) => kind !== "note");
}
