import {
  BIGINT,
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from "@duckdb/node-api";
import { LIMITS } from "@reprise/protocol";
import { escapeGlob } from "@reprise/facts/tables";
import {
  countedOnce,
  joinDelivery,
  LATEST_RECORD_US,
  LONGEST_READING_US,
  NEWEST_FIRST,
  sumDeliveries,
} from "../delivery-sums.ts";
import { MINUTE } from "../row-parts.ts";
import type { RowQuery } from "../row-source.ts";
import { inBatches } from "./row-batches.ts";

/* What DuckDbRows asks DuckDB. What a query says is a parameter, never a part of a statement. */

const PAIRS = Array.from({ length: LIMITS.metadataPairs }, (_, i) => ({
  key: `key${i}`,
  value: `value${i}`,
}));

const CONDITIONS = `
  ended_us >= $from and ended_us < $to
    and ($tenant is null or tenant = $tenant)
    and ($model is null or coalesce(model, requested_model) = $model)
    and ($status is null or status = $status)
    and ($only is null or generation = $only)
    ${PAIRS.map(({ key, value }) => `and ($${key} is null or try(json_extract_string(metadata, $${key})) = $${value})`).join(" ")}`;

/** By their names: files of earlier versions lack columns. */
const GENERATIONS_READ = `select * from read_parquet($paths, union_by_name = true) where ${CONDITIONS}`;

/** Files are many, and opening one takes as long as reading hundreds of rows: a part is read from those alone that have rows of it. */
export const COUNTS = `
  select filename as file, ${MINUTE} as minute, count(*) as rows
  from read_parquet($paths, union_by_name = true, filename = true) where ${CONDITIONS}
  group by all order by minute`;

export const PAGE_READ = `${GENERATIONS_READ}
    and ($ended is null or ended_us < $ended or (ended_us = $ended and generation < $generation))
  order by ${NEWEST_FIRST}
  limit $limit`;

const DELIVERIES_CONDITIONS = `recorded_us >= $from - ${LONGEST_READING_US} and recorded_us < $to + ${LATEST_RECORD_US} and ($tenant is null or tenant = $tenant)`;
export const DELIVERIES_READ = `read_parquet($deliveries) where ${DELIVERIES_CONDITIONS}`;

/** Finds the files with deliveries of a part. Deliveries may be recorded days later, in one of many files: this reads only ids. */
export const DELIVERIES_FILES = `
  select distinct filename as file from read_parquet($deliveries, union_by_name = true, filename = true)
  where ${DELIVERIES_CONDITIONS} and (tenant, generation) in (select tenant, generation from (${GENERATIONS_READ}))`;

const FOUND_IDS = `
  select tenant, generation, min(ended_us) as least_us, max(ended_us) as most_us from (${GENERATIONS_READ}) group by all`;
/** When the generations ended (two rows of one may differ), and how many rows of connections there are. */
const BESIDE_SUMS = {
  from_us: "min(least_us)",
  until_us: "max(most_us)",
  connections: "count(*) filter (where kind = 'connection')",
};
const deliveriesOf = (ids: string) =>
  `(select * from ${DELIVERIES_READ}) as recorded join (${ids}) as ids using (tenant, generation)`;

/**
 * Sums up the deliveries of a part's rows in a table of this connection alone. The table has the ends of the generations, so that each of the many statements
 * that follow joins no more of it than it reads rows.
 *
 * To count each connection once takes a sort of all rows; few generations have several connections, so that is done for these alone, afterwards: `CROWDED`, and
 * the statements after it.
 */
export const DELIVERED = `create temp table delivered as ${sumDeliveries(deliveriesOf(FOUND_IDS), BESIDE_SUMS)}`;
export const CROWDED = `
  create temp table crowded as
    select tenant, generation, from_us as least_us, until_us as most_us from delivered where connections > 1`;
export const COUNT_CROWDED = "select count(*) as generations from crowded";
export const WITHOUT_CROWDED = "delete from delivered where connections > 1";
export const AND_CROWDED = `
  insert into delivered ${sumDeliveries(countedOnce(`(select * from ${deliveriesOf("select * from crowded")}) as recorded`), BESIDE_SUMS)}`;
const DELIVERED_OF_PART = "select * from delivered where until_us >= $from and from_us < $to";
export const READ = {
  plain: inBatches(GENERATIONS_READ),
  delivered: inBatches(GENERATIONS_READ, DELIVERED_OF_PART),
};

export const OBJECTS = `
  select distinct filename from read_parquet($paths, filename = true)
  where list_contains($generations, generation) and metadata <> '{}'`;

export type Parameters = Readonly<Record<string, Parameter>>;
type Parameter = readonly [DuckDBValue, DuckDBType];

/** Paths of the files that are read. */
export interface RowPaths {
  readonly generations: readonly string[];
  /** Empty: none are asked for, or there are none. */
  readonly deliveries: readonly string[];
}

/** @param from of `deliveries`, where there are any */
export function withDelivery(read: string, { deliveries }: RowPaths, from: string): string {
  return deliveries.length === 0 ? read : joinDelivery(read, from);
}

export function parametersOf(query: RowQuery, { generations: paths, deliveries }: RowPaths): Parameters {
  const { tenant, fromUs, toUs, model, status, generation: only, metadata = {} } = query;
  const pairs = Object.entries(metadata);
  return {
    paths: pathsOf(paths),
    ...(deliveries.length > 0 && { deliveries: pathsOf(deliveries) }),
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
export async function run(
  connection: DuckDBConnection,
  sql: string,
  parameters: Parameters,
  { signal }: Pick<RowQuery, "signal"> = {},
): Promise<DuckDBMaterializedResult> {
  signal?.throwIfAborted();
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

/** Those of `AND_CROWDED`. */
export function deliveryParametersOf(
  { fromUs, toUs, tenant }: RowQuery,
  paths: readonly string[],
): Parameters {
  return {
    deliveries: pathsOf(paths),
    from: [BigInt(fromUs), BIGINT],
    to: [BigInt(toUs), BIGINT],
    tenant: [tenant ?? null, VARCHAR],
  };
}

function toJsonPointer(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** A parameter. DuckDB takes a path for a pattern. */
export function pathsOf(paths: readonly string[]): Parameter {
  return [listValue(paths.map(escapeGlob)), LIST(VARCHAR)];
}
