import type { BlobStore, VerifierKey } from "@reprise/archive";
import type { DrillKeys } from "./tamperings.ts";

/** With its owner's keys the drill also does what only the owner can. */
export interface DrilledArchive extends DrillKeys {
  readonly store: BlobStore;
  readonly name: string;
  readonly vkey: VerifierKey;
}
