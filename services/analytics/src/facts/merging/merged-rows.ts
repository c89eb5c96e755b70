import type { BlobStore } from "@reprise/archive";
import type { GenerationRow } from "@reprise/facts";
import { decodeMerged, type MergedFile, type RowsByCommit } from "./merged-file.ts";
import { GENERATIONS } from "../fact-tables.ts";
import { listingOf } from "../listing/kept-listing.ts";
import { holds } from "../superseded.ts";

/** A consumer that has come to the end asks again and again: a listing for each time would cost more than all else. */
const LIST_EVERY_MS = 60_000;

/** The rows of a stream's commits that are deleted, for one consumer that reads commit by commit. */
export class MergedRows {
  readonly #store: BlobStore;
  readonly #stream: string;
  #file: MergedFile | undefined;
  #rows: RowsByCommit<GenerationRow> = new Map();
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor(store: BlobStore, stream: string) {
    this.#store = store;
    this.#stream = stream;
  }

  /** Undefined: no merged file has the commit, or none had it a minute ago. @throws RepriseError `archive_unavailable`, `archive_corrupt` */
  async rowsOf(n: number): Promise<readonly GenerationRow[] | undefined> {
    if (!this.#file || !holds(this.#file, n)) {
      if (performance.now() - this.#listedMs < LIST_EVERY_MS) return undefined;
      const { merged } = (await listingOf(this.#store).stream(this.#stream)).files();
      this.#file = merged.find((file) => holds(file, n));
      if (!this.#file) {
        this.#listedMs = performance.now();
        return undefined;
      }
      const { key } = this.#file;
      const bytes = await this.#store.get(key);
      if (bytes) this.#rows = await decodeMerged(GENERATIONS, bytes, key);
      else this.#file = undefined;
    }
    // A superseded commit has none.
    return this.#file && (this.#rows.get(n) ?? []);
  }
}
