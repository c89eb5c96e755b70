import type { EncodedFold } from "@reprise/metering";
import { type GenerationRef, logSubject } from "@reprise/protocol";
import type { RunQuery } from "./run-query.ts";

/** Of rows, superseded ones too, and of all versions of folds. @returns how many rows it has changed */
export async function forgetMetadata(
  run: RunQuery,
  stream: string,
  refs: readonly GenerationRef[],
): Promise<number> {
  const subjects = refs.map(logSubject);
  const found = await run(
    `select subject, from_n, fold from reprise_analytics.folds
     where stream = $1 and subject = any($2::text[]) for update`,
    [stream, subjects],
  );
  // A text of a client in it may be none for PostgreSQL's own functions of JSON.
  const folds = found.rows.map(({ fold }) => withoutMetadata(JSON.parse(String(fold)) as EncodedFold));
  if (folds.length > 0)
    await run(
      `update reprise_analytics.folds set fold = f.fold
       from unnest($2::text[], $3::bigint[], $4::text[]) as f(subject, from_n, fold)
       where folds.stream = $1 and folds.subject = f.subject and folds.from_n = f.from_n`,
      [
        stream,
        found.rows.map(({ subject }) => subject),
        found.rows.map((row) => row["from_n"]),
        folds.map((fold) => JSON.stringify(fold)),
      ],
    );
  const { rowCount } = await run(
    `update reprise_analytics.generations set metadata = '{}'
     from unnest($2::text[], $3::text[]) as g(tenant, generation)
     where generations.stream = $1 and generations.generation = g.generation and generations.tenant = g.tenant
       and metadata <> '{}'`,
    [stream, refs.map(({ tenant }) => tenant), refs.map(({ generation }) => generation)],
  );
  return rowCount;
}

function withoutMetadata(fold: EncodedFold): EncodedFold {
  return { ...fold, state: { ...fold.state, metadata: {} } };
}
