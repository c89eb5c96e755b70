import type { GenerationRow } from "@reprise/metering";
import { columnsOf } from "../tables/fact-table.ts";
import { GENERATIONS } from "../tables/generations-table.ts";
import type { RowConsumer, RowPageQuery, RowQuery, RowSource } from "../row-source.ts";
import type { Postgres } from "./postgres.ts";
import { toStorable } from "./row-values.ts";

const COLUMNS = columnsOf(GENERATIONS);

/** Rows that are in memory at a time. */
const FETCH = 5_000;

/** The rows in the tables of a PostgreSQL. */
export class PostgresRows implements RowSource, AsyncDisposable {
  readonly #postgres: Postgres;

  /** @param postgres is closed with it */
  constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C> {
    const { where, values } = toWhere(query);
    const cursor = `declare found no scroll cursor for select ${COLUMNS} from ${where}`;
    return this.#postgres.transaction(async (run) => {
      const consumer = create();
      await run(cursor, values);
      for (;;) {
        const { rows } = await run(`fetch ${FETCH} from found`);
        for (const row of rows) consumer.add(GENERATIONS.toRow(row));
        if (rows.length < FETCH) return consumer;
      }
    });
  }

  async page(query: RowPageQuery): Promise<GenerationRow[]> {
    const { where, values, add } = toWhere(query);
    const { after, limit } = query;
    const behind = after
      ? `and (ended_us, generation) < (${add(after.endedUs)}, ${add(toStorable(after.generation))})`
      : "";
    const sql = `
      select ${COLUMNS} from ${where} ${behind}
      order by ended_us desc, generation desc limit ${add(limit)}`;
    const { rows } = await this.#postgres.transaction((run) => run(sql, values));
    return rows.map(GENERATIONS.toRow);
  }

  async objectsOf(): Promise<readonly string[]> {
    return [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#postgres[Symbol.asyncDispose]();
  }
}

/** Which parts a query has makes the statement, and what they say its values. */
function toWhere(query: RowQuery) {
  const { tenant, fromUs, toUs, model, status, metadata } = query;
  const values: unknown[] = [];
  const add = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    "not is_superseded",
    `ended_us >= ${add(fromUs)}`,
    `ended_us < ${add(toUs)}`,
    tenant !== undefined && `tenant = ${add(toStorable(tenant))}`,
    model !== undefined && `coalesce(model, requested_model) = ${add(toStorable(model))}`,
    status !== undefined && `status = ${add(toStorable(status))}`,
    metadata !== undefined && `metadata @> ${add(JSON.stringify(toStorable(metadata)))}::jsonb`,
  ];
  const where = `reprise_analytics.generations where ${conditions.filter((condition) => condition !== false).join(" and ")}`;
  return { where, values, add };
}
