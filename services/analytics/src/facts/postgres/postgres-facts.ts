import { DELIVERIES } from "../tables/deliveries-table.ts";
import { columnsOf } from "../tables/fact-table.ts";
import { GENERATIONS } from "../tables/generations-table.ts";
import type { FactStore, Outbox } from "../fact-store.ts";
import { forgetMetadata } from "./forget-metadata.ts";
import { PostgresLaneFacts } from "./postgres-lane-facts.ts";
import type { Postgres } from "./postgres.ts";

export interface PostgresFactsOptions {
  /** How many commits are between those at which folds can be restored for good. Default 720. */
  readonly checkpointEvery?: number;
}

/** Commits in the tables of a PostgreSQL. */
export function createPostgresFacts(
  postgres: Postgres,
  { checkpointEvery }: PostgresFactsOptions = {},
): FactStore {
  return {
    lane: (stream) => new PostgresLaneFacts({ postgres, table: GENERATIONS, stream, checkpointEvery }),
    deliveries: (stream) => new PostgresLaneFacts({ postgres, table: DELIVERIES, stream, checkpointEvery }),
    forget: (stream, refs) => postgres.transaction((run) => forgetMetadata(run, stream, refs)),
    tidier: () => undefined,
    newest: (stream) => new PostgresLaneFacts({ postgres, table: GENERATIONS, stream }).last(),
    outbox: (sink, stream) => createOutbox(postgres, sink, stream),
  };
}

function createOutbox(postgres: Postgres, sink: string, stream: string): Outbox {
  return {
    async place() {
      const sql = `select next from reprise_analytics.places where sink = $1 and stream = $2`;
      const { rows } = await postgres.transaction((run) => run(sql, [sink, stream]));
      return Number(rows[0]?.["next"] ?? 0);
    },
    rowsOf: (n) =>
      postgres.transaction(async (run) => {
        const commit = `select from reprise_analytics.commits where stream = $1 and n = $2`;
        if ((await run(commit, [stream, n])).rowCount === 0) return undefined;
        const sql = `
          select ${columnsOf(GENERATIONS)} from reprise_analytics.generations
          where stream = $1 and commit_n = $2 order by commit_i`;
        return (await run(sql, [stream, n])).rows.map(GENERATIONS.toRow);
      }),
    async advance(next) {
      const sql = `
        insert into reprise_analytics.places (sink, stream, next) values ($1, $2, $3)
        on conflict (sink, stream) do update set next = excluded.next`;
      await postgres.transaction((run) => run(sql, [sink, stream, next]));
    },
  };
}
