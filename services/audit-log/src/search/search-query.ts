import { BIGINT, type DuckDBConnection, INTEGER, LIST, listValue, VARCHAR } from "@duckdb/node-api";
import { escapeGlob } from "@reprise/facts/tables";
import { RepriseError } from "@reprise/protocol";
import { type ArchiveFile, decodeFingerprints } from "@reprise/archive";

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
export async function findGenerations(
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

/** The end of a list's page: after the generation created at this time. */
export interface PageCursor {
  readonly createdUs: number;
  readonly generation: string;
}

const PLACE = /^(0|[1-9][0-9]{0,15})\.([A-Za-z0-9_-]{1,64})$/;

/** Encodes the cursor that clients send back as `after`; opaque to them. */
export function encodePageCursor({ createdUs, generation }: PageCursor): string {
  return Buffer.from(`${createdUs}.${generation}`).toString("base64url");
}

/** @throws RepriseError `invalid_request` */
export function parsePageCursor(after: string): PageCursor {
  const [, createdUs, generation] = PLACE.exec(Buffer.from(after, "base64url").toString()) ?? [];
  if (createdUs === undefined || generation === undefined)
    throw new RepriseError("invalid_request", "after is not what a list has given as next.", {
      param: "after",
    });
  return { createdUs: Number(createdUs), generation };
}

/** When generations were created, microseconds since 1970: `fromUs` belongs to it, `toUs` does not. */
export interface TimeRange {
  readonly fromUs: number;
  readonly toUs: number;
}

/**
 * Selects the files that describe all generations created in a range: those with messages of that time, and later ones that may hold
 * more messages of these generations.
 */
export function filesInRange(files: readonly ArchiveFile[], { fromUs, toUs }: TimeRange): ArchiveFile[] {
  const [within, later]: [ArchiveFile[], ArchiveFile[]] = [[], []];
  for (const file of files) {
    if (file.last_at < fromUs) continue;
    (file.first_at < toUs ? within : later).push(file);
  }
  if (later.length === 0) return within;
  const known = new Set<number>();
  for (const { generations } of within) for (const one of decodeFingerprints(generations)) known.add(one);
  const goesOn = ({ generations }: ArchiveFile) =>
    decodeFingerprints(generations).some((one) => known.has(one));
  return [...within, ...later.filter(goesOn)];
}
