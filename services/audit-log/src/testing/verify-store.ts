import {
  type BlobStore,
  createNoteKey,
  type Finding,
  parseVerifierKey,
  verifyArchive,
} from "@reprise/archive";
import { SIGNING_SEED } from "./test-keys.ts";

const UNNAMED_FILE = "is named by no commit, or by none any more";

/** Returns the errors and notes about a test archive, verified without its keys. Files that no commit names are allowed. */
export async function verifyStore(store: BlobStore): Promise<readonly Finding[]> {
  const vkeys = [parseVerifierKey(createNoteKey("test", SIGNING_SEED).vkey)];
  const { findings } = await verifyArchive({ store, name: "test", vkeys, witnesses: [], witnessed: [] });
  return findings.filter(({ message }) => message !== UNNAMED_FILE);
}
