import { type Archive, type ArchiveFile, ArchiveReader, type Keyring } from "@reprise/archive";
import { GenerationFold, type GenerationRow } from "@reprise/metering";
import { type ErrorCode, type GenerationRef, RepriseError } from "@reprise/protocol";
import { Database, escapeGlob, type SearchableFiles } from "@reprise/tables";
import { BIGINT, LIST, listValue, VARCHAR } from "@duckdb/node-api";
import type { TimeWindow } from "./time-windows.ts";

/** What the archive says of one generation. */
export type Archived =
  | { readonly kind: "ended"; readonly row: GenerationRow }
  /** Its log has no end there. */
  | { readonly kind: "running" }
  | { readonly kind: "erased" }
  /** Events are missing before its end. */
  | { readonly kind: "incomplete" }
  | { readonly kind: "absent" };

export interface FoundEnd {
  readonly generation: string;
  /** When the segment's last event was stored that holds the end. */
  readonly lastUs: number;
}

export interface ArchivedGenerationsOptions {
  readonly archive: Archive;
  readonly keyring: Pick<Keyring, "open">;
  readonly files: SearchableFiles;
}

const ENDS = `
  select distinct generation, epoch_us(last_at) as last_us from read_parquet($paths)
  where kind = 'log' and status is not null
    and epoch_us(last_at) >= $from and epoch_us(first_at) < $to`;

const ALL = `select distinct generation from read_parquet($paths)
  where kind = 'log' and epoch_us(last_at) >= $from and epoch_us(first_at) < $to`;

const RUNNING = `
  select count(*) as running from (
    select generation from read_parquet($paths) where kind = 'log' group by generation
    having max(status) is null and min(epoch_us(first_at)) < $to and max(epoch_us(last_at)) >= $from
  )`;

const NOT_WHOLE: ReadonlySet<ErrorCode> = new Set([
  "generation_erased",
  "cursor_expired",
  "generation_not_found",
]);

/** Compaction may replace files while they are searched: so often at most. */
const MOST_TRIES = 3;

/** Finds which generations an archive has, and computes their rows from their logs: one segment of each in memory at a time. */
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

  /** Generations with an end in a segment that overlaps the window: more than ended in it. @throws RepriseError `archive_unavailable` */
  async *ends(tenant: string, { fromUs, toUs }: TimeWindow): AsyncGenerator<FoundEnd> {
    const within = ({ first_at, last_at }: ArchiveFile) => last_at >= fromUs && first_at < toUs;
    const rows = await this.#query(tenant, { sql: ENDS, within, fromUs, toUs });
    for (const { generation, last_us: lastUs } of rows)
      yield { generation: String(generation), lastUs: Number(lastUs) };
  }

  /** All that the archive has anything of, in any order. @throws RepriseError `archive_unavailable` */
  async *generations(tenant: string): AsyncGenerator<string> {
    const ever = { fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
    const rows = await this.#query(tenant, { sql: ALL, within: () => true, ...ever });
    for (const { generation } of rows) yield String(generation);
  }

  /** How many generations were under way in the window and have no end in the archive. @throws RepriseError `archive_unavailable` */
  async running(tenant: string, { fromUs, toUs }: TimeWindow): Promise<number> {
    const within = ({ last_at }: ArchiveFile) => last_at >= fromUs;
    const [row] = await this.#query(tenant, { sql: RUNNING, within, fromUs, toUs });
    return Number(row?.["running"] ?? 0);
  }

  /**
   * @param keys of the metadata that the row is to have
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async read(ref: GenerationRef, keys: readonly string[]): Promise<Archived> {
    if (this.#reader.erasedAt(ref) !== undefined) return { kind: "erased" };
    const fold = GenerationFold.begin(ref);
    try {
      for await (const { payload, storedAtUs } of this.#reader.events(ref)) {
        fold.feed(payload, storedAtUs, keys);
        if (fold.hasEnded) return { kind: "ended", row: fold.toRow() };
      }
    } catch (error) {
      const code = error instanceof RepriseError ? error.code : undefined;
      if (code === "generation_erased") return { kind: "erased" };
      if (code === "cursor_expired") return { kind: "incomplete" };
      if (code === "generation_not_found") return { kind: "absent" };
      throw error;
    }
    return { kind: "running" };
  }

  /**
   * What a log comes to, up to its end or to a time.
   * @param untilUs of its events: microseconds since 1970, included
   * @returns undefined where the archive has not all of it
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

  /** Days of which retention has deleted what was archived, `2026-11-23`. */
  deletedDays(tenant: string): ReadonlySet<string> {
    const records = this.#options.archive.state.records(tenant);
    return new Set(records.flatMap((one) => (one.kind === "retention_deleted" ? [one.day] : [])));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }

  async #query(
    tenant: string,
    { sql, within, fromUs, toUs }: { sql: string; within: (file: ArchiveFile) => boolean } & TimeWindow,
  ): Promise<Record<string, unknown>[]> {
    const { archive, files } = this.#options;
    for (let tries = 1; ; tries++) {
      const searched = archive.state.files(tenant).filter(within);
      if (searched.length === 0) return [];
      try {
        return await files.use(searched, (paths) =>
          this.#database.query(async (connection) => {
            const statement = await connection.prepare(sql);
            try {
              statement.bind(
                { paths: listValue(paths.map(escapeGlob)), from: BigInt(fromUs), to: BigInt(toUs) },
                { paths: LIST(VARCHAR), from: BIGINT, to: BIGINT },
              );
              return (await statement.runAndReadAll()).getRowObjectsJS();
            } finally {
              statement.destroySync();
            }
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
}
