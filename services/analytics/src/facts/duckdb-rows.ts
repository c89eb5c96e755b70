import { BIGINT, type DuckDBConnection, INTEGER, LIST, listValue, VARCHAR } from "@duckdb/node-api";
import type { BlobStore } from "@reprise/archive";
import { Semaphore, TimeSlices } from "@reprise/async";
import type { DeliveredRow } from "@reprise/facts";
import { RepriseError } from "@reprise/protocol";
import { Database, type SearchableFiles, type StoredFile } from "@reprise/facts/tables";
import {
  DELIVERIES_OF_FOUND,
  LATEST_RECORD_US,
  LONGEST_READING_US,
  NEWEST_FIRST,
  toDeliveredRow,
} from "./delivery-sums.ts";
import { type KeptListing, listingOf, rowFilesOf, toStoredFile } from "./listing/kept-listing.ts";
import { RowTimes } from "./listing/row-times.ts";
import { BatchReader } from "./parquet/row-batches.ts";
import {
  AND_CROWDED,
  COUNT_CROWDED,
  COUNTS,
  CROWDED,
  DELIVERED,
  DELIVERIES_FILES,
  DELIVERIES_READ,
  deliveryParametersOf,
  OBJECTS,
  PAGE_READ,
  parametersOf,
  pathsOf,
  READ,
  type RowPaths,
  run,
  withDelivery,
  WITHOUT_CROWDED,
} from "./parquet/statements.ts";
import { assertNotTooMany, filesOf, type MinuteCounts, type RowPart, toParts } from "./row-parts.ts";
import type { RowConsumer, RowPageQuery, RowQuery, RowSource } from "./row-source.ts";

/** Queries at a time: one for each question under way, and one for erasures. */
const MOST_QUERIES = 5;
/** Rows that are in memory at a time, and rows whose deliveries are summed up at a time: the files with deliveries are read once for each such part. */
const PART_ROWS = 20_000;
const DELIVERED_PARTS = 6;
/** At a time: each takes some 200 MB of the 512 MB that DuckDB has. Questions take turns, part by part. */
const MOST_DELIVERED = 1;
/** Files may be replaced by others while they are read: so often at most. */
const MOST_TRIES = 3;
/** Bytes of the files that are searched at a time for generations of any time. */
const OBJECTS_BYTES = 256 * 1_024 * 1_024;

export interface ParquetRowsOptions {
  /** A `KeptListing` is listed as it says, any other one for each query. */
  readonly store: BlobStore;
  readonly files: SearchableFiles;
  /** That are in memory at a time; one minute's are, at least. What their deliveries come to is in memory for six times as many. Default 20,000. */
  readonly partRows?: number;
}

/** The rows in a store's commits, read by DuckDB, which is started by the first query. */
export class DuckDbRows implements RowSource, AsyncDisposable {
  readonly #options: ParquetRowsOptions;
  readonly #listing: KeptListing;
  readonly #times: Readonly<Record<"generations" | "deliveries", RowTimes>>;
  readonly #database = new Database({ mostQueries: MOST_QUERIES });
  readonly #delivered = new Semaphore(MOST_DELIVERED);

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
    const { partRows = PART_ROWS } = this.#options;
    const read = await this.#inFiles(query, async (connection, paths) => {
      const consumer = create();
      const counts = await countMinutes(connection, query, paths);
      assertNotTooMany(counts, query);
      const feed = async (parts: readonly RowPart[], isDelivered: boolean) => {
        for (const part of parts)
          await this.#feed(
            connection,
            { ...query, ...part },
            { paths: filesOf(part), isDelivered, consumer },
          );
      };
      const all = { ...query, counts };
      if (paths.deliveries.length === 0) await feed(toParts(all, partRows), false);
      else
        for (const part of toParts(all, partRows * DELIVERED_PARTS))
          await this.#delivered.run(async () => {
            const files = { generations: filesOf(part), deliveries: paths.deliveries };
            const isDelivered = await sumUp(connection, { ...query, ...part }, files);
            await feed(toParts(part, partRows), isDelivered);
            if (isDelivered) await connection.run("drop table delivered");
          }, query.signal);
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
        paths: pathsOf(paths),
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

  /** @param query its time is that of a part */
  async #feed(
    connection: DuckDBConnection,
    query: RowQuery,
    from: {
      readonly paths: readonly string[];
      readonly isDelivered: boolean;
      readonly consumer: RowConsumer;
    },
  ): Promise<void> {
    const { paths, isDelivered, consumer } = from;
    const sql = isDelivered ? READ.delivered : READ.plain;
    const parameters = parametersOf(query, { generations: paths, deliveries: [] });
    const found = await run(connection, sql, parameters, query);
    const reader = new BatchReader(isDelivered);
    // The process's other work has its turn between two slices.
    const slices = new TimeSlices();
    for await (const chunk of found)
      for (const row of reader.rows(chunk)) {
        if (slices.isOver()) {
          await slices.next();
          query.signal?.throwIfAborted();
        }
        consumer.add(row);
      }
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
          return this.#database.query((connection) => work(connection, named, all), query.signal);
        });
      } catch (cause) {
        query.signal?.throwIfAborted();
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

interface FileQuery extends Pick<RowQuery, "withDelivery" | "fromUs" | "toUs" | "signal"> {
  /** Restricts the files with generations to these. */
  readonly keys?: ReadonlySet<string>;
}

/** Splits the keys of files into parts of at most this many bytes, or one file. */
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

async function countMinutes(
  connection: DuckDBConnection,
  query: RowQuery,
  { generations }: RowPaths,
): Promise<MinuteCounts> {
  const counts = await run(connection, COUNTS, parametersOf(query, { generations, deliveries: [] }), query);
  return (await counts.getRowObjectsJS()).map(({ file, minute, rows }) => ({
    file: file as string,
    minute: Number(minute),
    rows: Number(rows),
  }));
}

/**
 * Makes the table `delivered`.
 * @param query its time is that of a part
 * @returns whether there is anything in it; it is not made where not
 */
async function sumUp(connection: DuckDBConnection, query: RowQuery, paths: RowPaths): Promise<boolean> {
  const found = await run(connection, DELIVERIES_FILES, parametersOf(query, paths), query);
  const deliveries = (await found.getRowObjectsJS()).map(({ file }) => file as string);
  if (deliveries.length === 0) return false;
  await run(connection, DELIVERED, parametersOf(query, { ...paths, deliveries }), query);
  await run(connection, CROWDED, {}, query);
  const [crowded] = await (await run(connection, COUNT_CROWDED, {}, query)).getRowObjectsJS();
  if (Number(crowded?.["generations"]) > 0) {
    await run(connection, WITHOUT_CROWDED, {}, query);
    await run(connection, AND_CROWDED, deliveryParametersOf(query, deliveries), query);
  }
  await connection.run("drop table crowded");
  return true;
}

function hasAll(files: readonly StoredFile[], others: readonly StoredFile[]): boolean {
  const keys = new Set(files.map(({ key }) => key));
  return others.every(({ key }) => keys.has(key));
}
