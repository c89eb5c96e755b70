import { type ArchiveFile, type ArchiveState, erasuresOf, type Keyring } from "@reprise/archive";
import { type AuditSearch, type AuditSearchPage, RepriseError } from "@reprise/protocol";
import { Database, type SearchableFiles } from "@reprise/facts/tables";
import { metadataTag, subjectTag } from "../records/search-tags.ts";
import { filesInRange, type TimeRange } from "./files-in-range.ts";
import { encodePageCursor, parsePageCursor } from "./page-cursor.ts";
import { type FoundGeneration, searchGenerations } from "./search-generations.ts";
import { toAuditGeneration } from "./audit-generation.ts";

export interface ArchiveSearchOptions {
  archive: {
    readonly state: Pick<ArchiveState, "files" | "records">;
    refresh(): Promise<unknown>;
  };
  keyring: Pick<Keyring, "tag">;
  files: SearchableFiles;
}

/** Files that compaction replaces between two tries can be found at the third. */
const MOST_TRIES = 3;
const END_OF_TIME_US = Number.MAX_SAFE_INTEGER;

/** Lists a tenant's generations from the headers of their segments, which are not encrypted. DuckDB is started by the first search. */
export class ArchiveSearch implements AsyncDisposable {
  readonly #options: ArchiveSearchOptions;
  readonly #database = new Database();

  constructor(options: ArchiveSearchOptions) {
    this.#options = options;
  }

  /**
   * One page, newest first. A generation without its beginning counts as created with the first event that is there.
   * @throws RepriseError `invalid_request` for an `after` that no page has given, `archive_unavailable`
   */
  async search(query: AuditSearch): Promise<AuditSearchPage> {
    const { tenant, from, to, model, status, limit } = query;
    const after = query.after === undefined ? undefined : parsePageCursor(query.after);
    const range: TimeRange = {
      fromUs: toMicroseconds(from) ?? 0,
      toUs: toMicroseconds(to) ?? END_OF_TIME_US,
    };
    const tags = await this.#tagsOf(query);
    const found = await this.#inFiles(tenant, range, (paths) =>
      this.#database.query((connection) =>
        // One more than a page shows whether there is another one.
        searchGenerations(connection, { ...range, paths, model, status, tags, after, limit: limit + 1 }),
      ),
    );
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const { generations } = erasuresOf(this.#options.archive.state.records(tenant));
    const data = page.map((one) => toAuditGeneration(one, generations.get(one.generation)));
    return { object: "list", data, ...(last && { next: encodePageCursor(last) }) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }

  async #tagsOf({ tenant, metadata = {}, subject }: AuditSearch): Promise<string[]> {
    const texts = Object.entries(metadata).map(([key, value]) => metadataTag(key, value));
    if (subject !== undefined) texts.push(subjectTag(subject));
    return Promise.all(texts.map((text) => this.#options.keyring.tag(tenant, text)));
  }

  /** Compaction may take a file away while it is searched in: what replaced it is searched in then. */
  async #inFiles(
    tenant: string,
    range: TimeRange,
    work: (paths: readonly string[]) => Promise<FoundGeneration[]>,
  ): Promise<FoundGeneration[]> {
    const { archive, files } = this.#options;
    for (let tries = 1; ; tries++) {
      const searched = filesInRange(archive.state.files(tenant), range);
      if (searched.length === 0) return [];
      try {
        return await files.use(searched, work);
      } catch (cause) {
        await archive.refresh();
        const isSame = hasAll(archive.state.files(tenant), searched);
        if (isSame || tries === MOST_TRIES)
          throw new RepriseError("archive_unavailable", "The files of the archive can't be searched.", {
            cause,
          });
      }
    }
  }
}

function hasAll(files: readonly ArchiveFile[], searched: readonly ArchiveFile[]): boolean {
  const keys = new Set(files.map(({ key }) => key));
  return searched.every(({ key }) => keys.has(key));
}

function toMicroseconds(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time) * 1_000;
}
