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
import type { GenerationRow } from "@reprise/metering";
import { LIMITS, RepriseError } from "@reprise/protocol";
import { Database, escapeGlob, type SearchableFiles, type StoredFile } from "@reprise/tables";
import { GENERATIONS } from "./tables/generations-table.ts";
import { listRowFiles } from "./row-files.ts";
import type { RowConsumer, RowPageQuery, RowQuery, RowSource } from "./row-source.ts";

const PAIRS = Array.from({ length: LIMITS.metadataPairs }, (_, i) => ({
  key: `key${i}`,
  value: `value${i}`,
}));

const ROWS = `
  select * from read_parquet($paths)
  where ended_us >= $from and ended_us < $to
    and ($tenant is null or tenant = $tenant)
    and ($model is null or coalesce(model, requested_model) = $model)
    and ($status is null or status = $status)
    ${PAIRS.map(({ key, value }) => `and ($${key} is null or json_extract_string(metadata, $${key}) = $${value})`).join(" ")}`;

const PAGE = `${ROWS}
    and ($ended is null or ended_us < $ended or (ended_us = $ended and generation < $generation))
  order by ended_us desc, generation desc
  limit $limit`;

const OBJECTS = `
  select distinct filename from read_parquet($paths, filename = true)
  where list_contains($generations, generation) and metadata <> '{}'`;

/** Files may be replaced by others while they are read: so often at most. */
const MOST_TRIES = 3;

export interface ParquetRowsOptions {
  readonly store: BlobStore;
  readonly files: SearchableFiles;
}

/** The rows in a store's commits, read by DuckDB, which is started by the first query. */
export class ParquetRows implements RowSource, AsyncDisposable {
  readonly #options: ParquetRowsOptions;
  readonly #database = new Database();

  constructor(options: ParquetRowsOptions) {
    this.#options = options;
  }

  async read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C> {
    const read = await this.#inFiles(async (connection, paths) => {
      const consumer = create();
      const statement = await connection.prepare(ROWS);
      try {
        bind(statement, parametersOf(query, paths));
        for await (const rows of (await statement.stream()).yieldRowObjectJs())
          for (const row of rows) consumer.add(GENERATIONS.toRow(row));
      } finally {
        statement.destroySync();
      }
      return consumer;
    });
    return read ?? create();
  }

  async page(query: RowPageQuery): Promise<GenerationRow[]> {
    const { after, limit } = query;
    const rows = await this.#inFiles(async (connection, paths) => {
      const statement = await connection.prepare(PAGE);
      try {
        bind(statement, {
          ...parametersOf(query, paths),
          ended: [after ? BigInt(after.endedUs) : null, BIGINT],
          generation: [after?.generation ?? null, VARCHAR],
          limit: [limit, INTEGER],
        });
        return (await statement.runAndReadAll()).getRowObjectsJS().map(GENERATIONS.toRow);
      } finally {
        statement.destroySync();
      }
    });
    return rows ?? [];
  }

  async objectsOf(generations: readonly string[]): Promise<readonly string[]> {
    const keys = await this.#inFiles(async (connection, paths, files) => {
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
    work: (
      connection: DuckDBConnection,
      paths: readonly string[],
      files: readonly StoredFile[],
    ) => Promise<T>,
  ): Promise<T | undefined> {
    const { store, files } = this.#options;
    let listed = await listRowFiles(store);
    for (let tries = 1; listed.length > 0; tries++) {
      try {
        const used = listed;
        return await files.use(used, (paths) =>
          this.#database.query((connection) => work(connection, paths, used)),
        );
      } catch (cause) {
        if (cause instanceof RepriseError && cause.code !== "archive_unavailable") throw cause;
        const before = listed;
        listed = await listRowFiles(store);
        if (tries === MOST_TRIES || hasAll(listed, before))
          throw new RepriseError("archive_unavailable", "The rows of analytics can't be read.", { cause });
      }
    }
    return undefined;
  }
}

type Parameters = Readonly<Record<string, readonly [DuckDBValue, DuckDBType]>>;

function parametersOf(query: RowQuery, paths: readonly string[]): Parameters {
  const { tenant, fromUs, toUs, model, status, metadata = {} } = query;
  const pairs = Object.entries(metadata);
  return {
    paths: [listValue(paths.map(escapeGlob)), LIST(VARCHAR)],
    from: [BigInt(fromUs), BIGINT],
    to: [BigInt(toUs), BIGINT],
    tenant: [tenant ?? null, VARCHAR],
    model: [model ?? null, VARCHAR],
    status: [status ?? null, VARCHAR],
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
