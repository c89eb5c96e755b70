import {
  BIGINT,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
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
  LONGEST_READING_US,
  NEWEST_FIRST,
  toDeliveredRow,
} from "./delivery-sums.ts";
import { feedRows } from "./feed-rows.ts";
import { listRowFiles } from "./row-files.ts";
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

const PAGE_READ = `${GENERATIONS_READ}
    and ($ended is null or ended_us < $ended or (ended_us = $ended and generation < $generation))
  order by ${NEWEST_FIRST}
  limit $limit`;

const DELIVERIES_READ = `
  read_parquet($deliveries) where recorded_us >= $from - ${LONGEST_READING_US} and ($tenant is null or tenant = $tenant)`;

const OBJECTS = `
  select distinct filename from read_parquet($paths, filename = true)
  where list_contains($generations, generation) and metadata <> '{}'`;

/** At a time: rows are read as they are needed, so each takes little memory. */
const MOST_QUERIES = 4;
/** Files may be replaced by others while they are read: so often at most. */
const MOST_TRIES = 3;

export interface ParquetRowsOptions {
  readonly store: BlobStore;
  readonly files: SearchableFiles;
}

/** The rows in a store's commits, read by DuckDB, which is started by the first query. */
export class ParquetRows implements RowSource, AsyncDisposable {
  readonly #options: ParquetRowsOptions;
  /** A store that has listed rows once lists some for ever. */
  #hadRows = false;
  readonly #database = new Database({ mostQueries: MOST_QUERIES });

  constructor(options: ParquetRowsOptions) {
    this.#options = options;
  }

  async read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C> {
    const read = await this.#inFiles(query, async (connection, paths) => {
      const consumer = create();
      const statement = await connection.prepare(withDelivery(GENERATIONS_READ, paths));
      try {
        bind(statement, parametersOf(query, paths));
        await feedRows((await statement.stream()).yieldRowObjectJs(), consumer);
      } finally {
        statement.destroySync();
      }
      return consumer;
    });
    return read ?? create();
  }

  async page(query: RowPageQuery): Promise<DeliveredRow[]> {
    const { after, limit } = query;
    const rows = await this.#inFiles(query, async (connection, paths) => {
      const page = withDelivery(PAGE_READ, paths, `${DELIVERIES_READ} and ${DELIVERIES_OF_FOUND}`);
      const statement = await connection.prepare(`select * from (${page}) order by ${NEWEST_FIRST}`);
      try {
        bind(statement, {
          ...parametersOf(query, paths),
          ended: [after ? BigInt(after.endedUs) : null, BIGINT],
          generation: [after?.generation ?? null, VARCHAR],
          limit: [limit, INTEGER],
        });
        return (await statement.runAndReadAll()).getRowObjectsJS().map(toDeliveredRow);
      } finally {
        statement.destroySync();
      }
    });
    return rows ?? [];
  }

  async objectsOf(generations: readonly string[]): Promise<readonly string[]> {
    const keys = await this.#inFiles({}, async (connection, { generations: paths }, files) => {
      const statement = await connection.prepare(OBJECTS);
      try {
        bind(statement, {
          paths: [listValue(paths.map(escapeGlob)), LIST(VARCHAR)],
          generations: [listValue([...generations]), LIST(VARCHAR)],
        });
        const found = (await statement.runAndReadAll())
          .getRowObjectsJS()
          .map(({ filename }) => filename as string);
        const keyOf = new Map(paths.map((path, i) => [path, files[i]?.key ?? ""]));
        return found.map((path) => keyOf.get(path) ?? "");
      } finally {
        statement.destroySync();
      }
    });
    return keys ?? [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }

  /** @returns undefined where there are no files */
  async #inFiles<T>(
    query: Pick<RowQuery, "withDelivery">,
    work: (connection: DuckDBConnection, paths: RowPaths, files: readonly StoredFile[]) => Promise<T>,
  ): Promise<T | undefined> {
    const { store, files } = this.#options;
    const list = async () => {
      const generations = await listRowFiles(store, "generations");
      const deliveries = query.withDelivery ? await listRowFiles(store, "deliveries") : [];
      return { all: [...generations, ...deliveries], generations: generations.length };
    };
    let listed = await list();
    if (listed.generations === 0 && this.#hadRows)
      throw new RepriseError("archive_unavailable", "The store of analytics lists no rows any more.");
    this.#hadRows = listed.generations > 0;
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
        listed = await list();
        if (tries === MOST_TRIES || hasAll(listed.all, before.all))
          throw new RepriseError("archive_unavailable", "The rows of analytics can't be read.", { cause });
      }
    }
    return undefined;
  }
}

type Parameters = Readonly<Record<string, readonly [DuckDBValue, DuckDBType]>>;

/** Of the files that are read. */
interface RowPaths {
  readonly generations: readonly string[];
  /** Empty: none are asked for, or there are none. */
  readonly deliveries: readonly string[];
}

/** @param from of `deliveries`, where there are any */
function withDelivery(read: string, { deliveries }: RowPaths, from = DELIVERIES_READ): string {
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

function bind(statement: DuckDBPreparedStatement, parameters: Parameters): void {
  const all = Object.entries(parameters);
  statement.bind(
    Object.fromEntries(all.map(([name, [value]]) => [name, value])),
    Object.fromEntries(all.map(([name, [, type]]) => [name, type])),
  );
}

function toJsonPointer(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function hasAll(files: readonly StoredFile[], others: readonly StoredFile[]): boolean {
  const keys = new Set(files.map(({ key }) => key));
  return others.every(({ key }) => keys.has(key));
}
