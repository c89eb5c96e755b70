import { type Archive, ArchiveReader, type Keyring } from "@reprise/archive";
import { GenerationFold } from "@reprise/facts";
import { type ErrorCode, type GenerationRef, RepriseError } from "@reprise/protocol";
import { Database, escapeGlob, type SearchableFiles } from "@reprise/facts/tables";
import { LIST, listValue, VARCHAR } from "@duckdb/node-api";

export interface ArchivedGenerationsOptions {
  readonly archive: Archive;
  readonly keyring: Pick<Keyring, "open">;
  readonly files: SearchableFiles;
}

const ALL = `select distinct generation from read_parquet($paths) where kind = 'log'`;

const NOT_WHOLE: ReadonlySet<ErrorCode> = new Set([
  "generation_erased",
  "cursor_expired",
  "generation_not_found",
]);

/** Compaction may replace files while they are searched: so often at most. */
const MOST_TRIES = 3;

/** Finds the generations of an archive and folds their logs, with one segment in memory at a time. */
export class ArchivedGenerations implements AsyncDisposable {
  readonly #options: ArchivedGenerationsOptions;
  readonly #reader: ArchiveReader;
  readonly #database = new Database();

  constructor(options: ArchivedGenerationsOptions) {
    this.#options = options;
    this.#reader = new ArchiveReader(options);
  }

  tenants(): string[] {
    return this.#options.archive.state.tenants();
  }

  /**
   * Folds a log up to its end, or up to a time.
   * @param untilUs microseconds since 1970, inclusive
   * @returns undefined if a part is missing in the archive
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async fold(
    ref: GenerationRef,
    keys: readonly string[],
    untilUs: number,
  ): Promise<GenerationFold | undefined> {
    const fold = GenerationFold.begin(ref);
    let hasBegun = false;
    try {
      for await (const { payload, storedAtUs } of this.#reader.events(ref)) {
        if (storedAtUs > untilUs) break;
        hasBegun = true;
        fold.feed(payload, storedAtUs, keys);
        if (fold.hasEnded) return fold;
      }
    } catch (error) {
      if (error instanceof RepriseError && NOT_WHOLE.has(error.code)) return undefined;
      throw error;
    }
    return hasBegun ? fold : undefined;
  }

  /** Every generation of which the archive has a part, in any order. @throws RepriseError `archive_unavailable` */
  async generations(tenant: string): Promise<string[]> {
    const { archive, files } = this.#options;
    for (let tries = 1; ; tries++) {
      const searched = archive.state.files(tenant);
      if (searched.length === 0) return [];
      try {
        return await files.use(searched, (paths) =>
          this.#database.query(async (connection) => {
            const values = { paths: listValue(paths.map(escapeGlob)) };
            const found = await connection.runAndReadAll(ALL, values, { paths: LIST(VARCHAR) });
            return found.getColumns()[0]?.map(String) ?? [];
          }),
        );
      } catch (cause) {
        await archive.refresh();
        const isSame = searched.every(({ key }) => archive.state.hasFile(tenant, key));
        if (isSame || tries === MOST_TRIES)
          throw new RepriseError("archive_unavailable", "The files of the archive can't be searched.", {
            cause,
          });
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }
}
