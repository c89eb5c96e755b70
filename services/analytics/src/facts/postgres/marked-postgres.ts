import { type MarkedStore, parseMarker } from "../identity/store-marker.ts";
import type { Postgres } from "./postgres.ts";

export function markedPostgres(postgres: Postgres): MarkedStore {
  return {
    marker: () =>
      postgres.transaction(async (run) => {
        const { rows } = await run("select id, replaces from reprise_analytics.store");
        return rows[0] && parseMarker(rows[0]);
      }),
    async mark({ id, replaces }) {
      const sql = `insert into reprise_analytics.store (id, replaces) values ($1, $2) on conflict do nothing`;
      await postgres.transaction((run) => run(sql, [id, replaces]));
    },
    async remark({ id, replaces }) {
      const sql = `
        insert into reprise_analytics.store (id, replaces) values ($1, $2)
        on conflict (is_one) do update set id = excluded.id, replaces = excluded.replaces`;
      await postgres.transaction((run) => run(sql, [id, replaces]));
    },
  };
}
