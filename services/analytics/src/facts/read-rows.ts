import { BIGINT, type DuckDBConnection, LIST, listValue, VARCHAR } from "@duckdb/node-api";
import type { GenerationRow } from "@reprise/metering";
import { escapeGlob } from "@reprise/tables";
import { toRow } from "./row-columns.ts";

/** Which rows: of one tenant, or of all, by when their generations ended. */
export interface RowQuery {
  /** Of files of rows; at least one. */
  readonly paths: readonly string[];
  /** Undefined: of all. */
  readonly tenant: string | undefined;
  /** Microseconds since 1970: from, and before. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly model: string | undefined;
}

const SQL = `
  select * from read_parquet($paths)
  where ended_us >= $from and ended_us < $to
    and ($tenant is null or tenant = $tenant)
    and ($model is null or coalesce(model, requested_model) = $model)
  order by ended_us, generation`;

/** The oldest first. What the query says reaches DuckDB as parameters alone. */
export async function readRows(
  connection: DuckDBConnection,
  { paths, tenant, fromUs, toUs, model }: RowQuery,
): Promise<GenerationRow[]> {
  const statement = await connection.prepare(SQL);
  try {
    statement.bind(
      {
        paths: listValue(paths.map(escapeGlob)),
        from: BigInt(fromUs),
        to: BigInt(toUs),
        tenant: tenant ?? null,
        model: model ?? null,
      },
      { paths: LIST(VARCHAR), from: BIGINT, to: BIGINT, tenant: VARCHAR, model: VARCHAR },
    );
    const reader = await statement.runAndReadAll();
    return reader.getRowObjectsJS().map(toRow);
  } finally {
    statement.destroySync();
  }
}
