import {
  BIGINT,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from "@duckdb/node-api";
import type { BlobStore } from "@reprise/archive";
import type { DeliveredRow } from "@reprise/metering";
import { LIMITS, RepriseError } from "@reprise/protocol";
import { Database, escapeGlob, type SearchableFiles, type StoredFile } from "@reprise/tables";
import {
  DELIVERIES_OF_FOUND,
  joinDelivery,
  LATEST_RECORD_US,
  LONGEST_READING_US,
  NEWEST_FIRST,
  toDeliveredRow,
} from "./delivery-sums.ts";
import { feedRows } from "./feed-rows.ts";
import type { KeptListing } from "./listing/kept-listing.ts";
import { RowTimes } from "./listing/row-times.ts";
import { listingOf, rowFilesOf, toStoredFile } from "./row-files.ts";
import type { RowConsumer, RowPageQuery, RowQuery, RowSource } from "./row-source.ts";

const PAIRS = Array.from({ length: LIMITS.metadataPairs }, (_, i) => ({
  key: `key${i}`,
  value: `value${i}`,
}));

/** By their names: files of earlier versions lack columns. */
const GENERATIONS_READ = `
  select * from read_parquet($paths, union_by_name = true)
  where ended_us >= $from and ended_us < $to
    and ($tenant is null or tenant = $tenant)
    and ($model is null or coalesce(model, requested_model) = $model)
    and ($status is null or status = $status)
    and ($only is null or generation = $only)
    ${PAIRS.map(({ key, value }) => `and ($${key} is null or try(json_extract_string(metadata, $${key})) = $${value})`).join(" ")}`;

const MINUTE_US = 60_000_000;
const PART_ROWS = 20_000;
const COUNTS = `
  select ended_us // ${MINUTE_US} as minute, count(*) as rows from (${GENERATIONS_READ}) group by minute order by minute`;

const PAGE_READ = `${GENERATIONS_READ}
    and ($ended is null or ended_us < $ended or (ended_us = $ended and generation < $generation))
  order by ${NEWEST_FIRST}
  limit $limit`;

const DELIVERIES_READ = `
  read_parquet($deliveries) where recorded_us >= $from - ${LONGEST_READING_US} and recorded_us < $to + ${LATEST_RECORD_US} and ($tenant is null or tenant = $tenant)`;

const OBJECTS = `
  select distinct filename from read_parquet($paths, filename = true)
  where list_contains($generations, generation) and metadata <> '{}'`;

/** At a time: rows are read as they are needed, so each takes little memory. */
const MOST_QUERIES = 4;
/** Files may be replaced by others while they are read: so often at most. */
const MOST_TRIES = 3;
/** Of the files that are searched at a time for generations of any time. */
const OBJECTS_BYTES = 256 * 1_024 * 1_024;

export interface ParquetRowsOptions {
  /** A `KeptListing` is listed as it says, any other one for each query. */
  readonly store: BlobStore;
  readonly files: SearchableFiles;
  /** That are in memory at a time, with the rows of deliveries that are theirs; one minute's are, at least. Default 20,000. */
  readonly partRows?: number;
}

/** The rows in a store's commits, read by DuckDB, which is started by the first query. */
export class ParquetRows implements RowSource, AsyncDisposable {
  readonly #options: ParquetRowsOptions;
  readonly #listing: KeptListing;
  readonly #times: Readonly<Record<"generations" | "deliveries", RowTimes>>;
  readonly #database = new Database({ mostQueries: MOST_QUERIES });

  constructor(options: ParquetRowsOptions) {
    this.#options = options;
    const { store } = options;
    this.#listing = listingOf(store);
    this.#times = {
      generations: new RowTimes(store, "ended_us"),
      deliveries: new RowTimes(store, "recorded_us"),
    };
  }

  async read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C> {
    const read = await this.#inFiles(query, async (connection, paths) => {
      const consumer = create();
      for (const part of await this.#partsOf(connection, query, paths)) {
        const sql = withDelivery(GENERATIONS_READ, paths, `${DELIVERIES_READ} and ${DELIVERIES_OF_FOUND}`);
        const rows = await run(connection, sql, parametersOf({ ...query, ...part }, paths));
        await feedRows(rows.yieldRowObjectJs(), consumer);
      }
      return consumer;
    });
    return read ?? create();
  }

  async page(query: RowPageQuery): Promise<DeliveredRow[]> {
    const { after, limit } = query;
    const rows = await this.#inFiles(query, async (connection, paths) => {
      const page = withDelivery(PAGE_READ, paths, `${DELIVERIES_READ} and ${DELIVERIES_OF_FOUND}`);
      const found = await run(connection, `select * from (${page}) order by ${NEWEST_FIRST}`, {
        ...parametersOf(query, paths),
        ended: [after ? BigInt(after.endedUs) : null, BIGINT],
        generation: [after?.generation ?? null, VARCHAR],
        limit: [limit, INTEGER],
      });
      return (await found.getRowObjectsJS()).map(toDeliveredRow);
    });
    return rows ?? [];
  }

  async objectsOf(generations: readonly string[]): Promise<readonly string[]> {
    const ever = { fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
    const { all } = await this.#list(ever, false);
    const found: string[] = [];
    // What is merged in between is found by the next call.
    for (const keys of partsOf(all, OBJECTS_BYTES))
      found.push(...(await this.#objectsAmong({ ...ever, keys }, generations)));
    return found;
  }

  async #objectsAmong(query: FileQuery, generations: readonly string[]): Promise<readonly string[]> {
    const keys = await this.#inFiles(query, async (connection, { generations: paths }, files) => {
      const found = await run(connection, OBJECTS, {
        paths: [listValue(paths.map(escapeGlob)), LIST(VARCHAR)],
        generations: [listValue([...generations]), LIST(VARCHAR)],
      });
      const keyOf = new Map(paths.map((path, i) => [path, files[i]?.key ?? ""]));
      return (await found.getRowObjectsJS()).map(({ filename }) => keyOf.get(filename as string) ?? "");
    });
    return keys ?? [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }

  /** The time of a query in parts whose rows, and what is joined to them, have room in memory: a minute at least. */
  async #partsOf(connection: DuckDBConnection, query: RowQuery, { generations }: RowPaths): Promise<Part[]> {
    const { partRows = PART_ROWS } = this.#options;
    const counts = await run(connection, COUNTS, parametersOf(query, { generations, deliveries: [] }));
    const parts: Part[] = [];
    let [fromUs, rows] = [query.fromUs, 0];
    for (const { minute, rows: more } of await counts.getRowObjectsJS()) {
      const minuteUs = Number(minute) * MINUTE_US;
      if (rows > 0 && rows + Number(more) > partRows) {
        parts.push({ fromUs, toUs: minuteUs });
        [fromUs, rows] = [minuteUs, 0];
      }
      rows += Number(more);
    }
    if (rows > 0) parts.push({ fromUs, toUs: query.toUs });
    return parts;
  }

  /** Those of a query's time, of both tables. */
  async #list(query: FileQuery, isWhole: boolean) {
    const { fromUs, toUs, keys } = query;
    const files = await this.#listing.files({ isWhole });
    const times = { fromUs, toUs };
    const ofTime = await this.#times.generations.within(rowFilesOf(files, "generations"), times);
    const generations = keys ? ofTime.filter(({ key }) => keys.has(key)) : ofTime;
    const recorded = { fromUs: fromUs - LONGEST_READING_US, toUs: toUs + LATEST_RECORD_US };
    const deliveries = query.withDelivery
      ? await this.#times.deliveries.within(rowFilesOf(files, "deliveries"), recorded)
      : [];
    return { all: [...generations, ...deliveries].map(toStoredFile), generations: generations.length };
  }

  /** @returns undefined where there are no files */
  async #inFiles<T>(
    query: FileQuery,
    work: (connection: DuckDBConnection, paths: RowPaths, files: readonly StoredFile[]) => Promise<T>,
  ): Promise<T | undefined> {
    const { files } = this.#options;
    let listed = await this.#list(query, false);
    for (let tries = 1; listed.generations > 0; tries++) {
      try {
        const { all, generations } = listed;
        return await files.use(all, (paths) => {
          const named = { generations: paths.slice(0, generations), deliveries: paths.slice(generations) };
          return this.#database.query((connection) => work(connection, named, all));
        });
      } catch (cause) {
        if (cause instanceof RepriseError && cause.code !== "archive_unavailable") throw cause;
        const before = listed;
        listed = await this.#list(query, true);
        if (tries === MOST_TRIES || hasAll(listed.all, before.all))
          throw new RepriseError("archive_unavailable", "The rows of analytics can't be read.", { cause });
      }
    }
    return undefined;
  }
}

interface FileQuery extends Pick<RowQuery, "withDelivery" | "fromUs" | "toUs"> {
  /** Of the files with generations, these alone. */
  readonly keys?: ReadonlySet<string>;
}

/** The keys of files, in parts that have so many bytes at most, or one file. */
function partsOf(files: readonly StoredFile[], mostBytes: number): ReadonlySet<string>[] {
  const parts: Set<string>[] = [];
  let left = 0;
  for (const { key, bytes } of files) {
    const part = left >= bytes ? parts.at(-1) : undefined;
    if (!part) left = mostBytes;
    left -= bytes;
    if (part) part.add(key);
    else parts.push(new Set([key]));
  }
  return parts;
}

type Part = Pick<RowQuery, "fromUs" | "toUs">;

type Parameters = Readonly<Record<string, readonly [DuckDBValue, DuckDBType]>>;

/** Of the files that are read. */
interface RowPaths {
  readonly generations: readonly string[];
  /** Empty: none are asked for, or there are none. */
  readonly deliveries: readonly string[];
}

/** @param from of `deliveries`, where there are any */
function withDelivery(read: string, { deliveries }: RowPaths, from: string): string {
  return deliveries.length === 0 ? read : joinDelivery(read, from);
}

function parametersOf(query: RowQuery, { generations: paths, deliveries }: RowPaths): Parameters {
  const { tenant, fromUs, toUs, model, status, generation: only, metadata = {} } = query;
  const pairs = Object.entries(metadata);
  return {
    paths: [listValue(paths.map(escapeGlob)), LIST(VARCHAR)],
    ...(deliveries.length > 0 && { deliveries: [listValue(deliveries.map(escapeGlob)), LIST(VARCHAR)] }),
    from: [BigInt(fromUs), BIGINT],
    to: [BigInt(toUs), BIGINT],
    tenant: [tenant ?? null, VARCHAR],
    model: [model ?? null, VARCHAR],
    status: [status ?? null, VARCHAR],
    only: [only ?? null, VARCHAR],
    ...Object.fromEntries(
      PAIRS.flatMap(({ key, value }, i) => {
        const pair = pairs[i];
        return [
          [key, [pair ? toJsonPointer(pair[0]) : null, VARCHAR]],
          [value, [pair?.[1] ?? null, VARCHAR]],
        ];
      }),
    ),
  };
}

/** Whole: `stream` of @duckdb/node-api (1.5.5, 1.5.6) ends at an error as it does at the end, and rows are missing in silence. */
async function run(connection: DuckDBConnection, sql: string, parameters: Parameters) {
  const all = Object.entries(parameters);
  const statement = await connection.prepare(sql);
  try {
    statement.bind(
      Object.fromEntries(all.map(([name, [value]]) => [name, value])),
      Object.fromEntries(all.map(([name, [, type]]) => [name, type])),
    );
    return await statement.run();
  } finally {
    statement.destroySync();
  }
}

function toJsonPointer(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function hasAll(files: readonly StoredFile[], others: readonly StoredFile[]): boolean {
  const keys = new Set(files.map(({ key }) => key));
  return others.every(({ key }) => keys.has(key));
}
