import { BIGINT, type DuckDBConnection, INTEGER, LIST, listValue, VARCHAR } from "@duckdb/node-api";
import { escapeGlob } from "@reprise/facts/tables";
import type { TimeRange } from "./files-in-range.ts";
import type { PageCursor } from "./page-cursor.ts";

/** The query for the files of one tenant. */
export interface SearchQuery extends TimeRange {
  /** Paths of files of segments; at least one. */
  readonly paths: readonly string[];
  readonly model: string | undefined;
  readonly status: string | undefined;
  /** Keyed hashes, all of which a generation has. */
  readonly tags: readonly string[];
  readonly after: PageCursor | undefined;
  readonly limit: number;
}

/** One generation, as its segments' headers tell it. Times are microseconds since 1970. */
export interface FoundGeneration {
  readonly generation: string;
  readonly createdUs: number;
  readonly lastUs: number;
  readonly model: string;
  readonly status: string;
  readonly events: number;
}

/*
 * A segment of a later epoch replaces everything of earlier epochs from its first event (`layOutLog`): `cut` is that place. The end of a
 * log is ignored if it was replaced.
 */
const SQL = `
  with segments as (
    select generation, model, status, tags, first_seq, last_seq,
      epoch_us(first_at) as first_us, epoch_us(last_at) as last_us,
      min(first_seq) over (
        partition by generation order by epoch desc range between unbounded preceding and 1 preceding
      ) as cut
    from read_parquet($paths) where kind = 'log'
  ), generations as (
    select generation,
      min(first_us) as created_us,
      max(last_us) as last_us,
      coalesce(any_value(model), '') as model,
      coalesce(arg_max(status, last_seq) filter (status is not null and (cut is null or last_seq < cut)), 'open') as status,
      max(least(last_seq, coalesce(cut - 1, last_seq))) + 1 as events,
      string_split(coalesce(any_value(tags), ''), ',') as tags
    from segments group by generation
  )
  select generation, created_us, last_us, model, status, events from generations
  where created_us >= $from and created_us < $to
    and ($model is null or model = $model)
    and ($status is null or status = $status)
    and list_has_all(tags, $tags)
    and ($after_generation is null or (created_us, generation) < ($after_us, $after_generation))
  order by created_us desc, generation desc
  limit $limit`;

interface Row {
  readonly generation: string;
  readonly created_us: bigint;
  readonly last_us: bigint;
  readonly model: string;
  readonly status: string;
  readonly events: bigint;
}

/** Newest first. What the query says reaches DuckDB as parameters alone. */
export async function searchGenerations(
  connection: DuckDBConnection,
  { paths, fromUs, toUs, model, status, tags, after, limit }: SearchQuery,
): Promise<FoundGeneration[]> {
  const statement = await connection.prepare(SQL);
  try {
    statement.bind(
      {
        paths: listValue(paths.map(escapeGlob)),
        from: BigInt(fromUs),
        to: BigInt(toUs),
        model: model ?? null,
        status: status ?? null,
        tags: listValue([...tags]),
        after_us: BigInt(after?.createdUs ?? 0),
        after_generation: after?.generation ?? null,
        limit,
      },
      {
        paths: LIST(VARCHAR),
        from: BIGINT,
        to: BIGINT,
        model: VARCHAR,
        status: VARCHAR,
        tags: LIST(VARCHAR),
        after_us: BIGINT,
        after_generation: VARCHAR,
        limit: INTEGER,
      },
    );
    const rows = (await statement.runAndReadAll()).getRowObjectsJS() as unknown as Row[];
    return rows.map(({ created_us, last_us, events, ...row }) => ({
      ...row,
      createdUs: Number(created_us),
      lastUs: Number(last_us),
      events: Number(events),
    }));
  } finally {
    statement.destroySync();
  }
}
