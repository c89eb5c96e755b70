import type { BlobInfo, BlobStore } from "@reprise/archive";
import { Semaphore } from "@reprise/async";
import { readParquetRange } from "@reprise/facts/tables";

/** Microseconds since 1970, both included. */
interface Times {
  readonly firstUs: number;
  readonly lastUs: number;
}

const AT_A_TIME = 8;
/** Bytes that are read first from a file's end: most files' footers fit in. */
const TAIL_BYTES = 64 * 1_024;

/**
 * Between which times the rows of each file are, by the statistics in its footer: read once, as no file's rows get other times. So a question opens the files of its time alone.
 */
export class RowTimes {
  readonly #store: Pick<BlobStore, "get">;
  readonly #column: string;
  readonly #gate = new Semaphore(AT_A_TIME);
  #known = new Map<string, Times>();

  /** @param column of whole microseconds */
  constructor(store: Pick<BlobStore, "get">, column: string) {
    this.#store = store;
    this.#column = column;
  }

  /**
   * The files that may have rows from `fromUs` and before `toUs`. A file without statistics may have any.
   * @param files all there are: what else is known is forgotten
   * @throws RepriseError `archive_unavailable`
   */
  async within(
    files: readonly BlobInfo[],
    { fromUs, toUs }: { readonly fromUs: number; readonly toUs: number },
  ): Promise<readonly BlobInfo[]> {
    const times = await Promise.all(
      files.map(async (file) => this.#known.get(file.key) ?? this.#gate.run(() => this.#read(file))),
    );
    this.#known = new Map(
      files.flatMap(({ key }, i) => {
        const known = times[i];
        return known ? [[key, known] as const] : [];
      }),
    );
    return files.filter((_, i) => {
      const known = times[i];
      return !known || (known.firstUs < toUs && known.lastUs >= fromUs);
    });
  }

  async #read({ key, bytes: size }: BlobInfo): Promise<Times | undefined> {
    for (let length = TAIL_BYTES; ; length *= 16) {
      const offset = Math.max(0, size - length);
      const tail = await this.#store.get(key, { offset, length: size - offset });
      // It was replaced meanwhile: reading the file says so.
      if (!tail || tail.length !== size - offset) return undefined;
      const range = readParquetRange(tail, this.#column);
      if (range === "footer_cut" && offset > 0) continue;
      if (range === "footer_cut" || range === undefined) return undefined;
      return { firstUs: range.least, lastUs: range.greatest };
    }
  }
}
