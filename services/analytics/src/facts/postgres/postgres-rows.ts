import type { DeliveredRow } from "@reprise/metering";
import {
  DELIVERIES_OF_FOUND,
  joinDelivery,
  LATEST_RECORD_US,
  LONGEST_READING_US,
  NEWEST_FIRST,
  toDeliveredRow,
} from "../delivery-sums.ts";
import type { RowConsumer, RowPageQuery, RowQuery, RowSource } from "../row-source.ts";
import { feedRows } from "../feed-rows.ts";
import type { Postgres } from "./postgres.ts";
import type { QueryOutcome, RunQuery } from "./run-query.ts";
import { toStorable } from "./row-values.ts";

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
    const { found, values, add } = toWhere(query);
    const { tenant } = query;
    const ofTenant = () => (tenant === undefined ? "true" : `tenant = ${add(toStorable(tenant))}`);
    const cursor = `declare rows no scroll cursor for ${withDelivery(query, found, ofTenant)}`;
    return this.#postgres.transaction(async (run) => {
      const consumer = create();
      await run(cursor, values);
      await feedRows(fetchRows(run), consumer);
      return consumer;
    });
  }

  async page(query: RowPageQuery): Promise<DeliveredRow[]> {
    const { found, values, add } = toWhere(query);
    const { after, limit } = query;
    const behind = after
      ? `and (ended_us, generation) < (${add(after.endedUs)}, ${add(toStorable(after.generation))})`
      : "";
    const page = `${found} ${behind} order by ${NEWEST_FIRST} limit ${add(limit)}`;
    const sql = `select * from (${withDelivery(query, page, () => DELIVERIES_OF_FOUND)}) as page order by ${NEWEST_FIRST}`;
    const { rows } = await this.#postgres.transaction((run) => run(sql, values));
    return rows.map(toDeliveredRow);
  }

  async objectsOf(): Promise<readonly string[]> {
    return [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#postgres[Symbol.asyncDispose]();
  }
}

/** Those of the transaction's cursor. */
async function* fetchRows(run: RunQuery): AsyncGenerator<QueryOutcome["rows"]> {
  for (;;) {
    const { rows } = await run(`fetch ${FETCH} from rows`);
    yield rows;
    if (rows.length < FETCH) return;
  }
}

/** Which parts a query has makes the statement, and what they say its values. */
function toWhere(query: RowQuery) {
  const { tenant, fromUs, toUs, model, status, generation, metadata } = query;
  const values: unknown[] = [];
  const add = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    "not is_superseded",
    `ended_us >= ${add(fromUs)}`,
    `ended_us < ${add(toUs)}`,
    tenant !== undefined && `tenant = ${add(toStorable(tenant))}`,
    model !== undefined && `coalesce(model, requested_model) = ${add(toStorable(model))}`,
    generation !== undefined && `generation = ${add(toStorable(generation))}`,
    status !== undefined && `status = ${add(toStorable(status))}`,
    metadata !== undefined && `metadata @> ${add(JSON.stringify(toStorable(metadata)))}::jsonb`,
  ];
  const found = `select * from reprise_analytics.generations where ${conditions.filter((condition) => condition !== false).join(" and ")}`;
  return { found, values, add };
}

/** @param deliveries a condition */
function withDelivery(
  { withDelivery: isAsked, fromUs, toUs }: RowQuery,
  found: string,
  deliveries: () => string,
): string {
  if (!isAsked) return found;
  return joinDelivery(
    found,
    `reprise_analytics.deliveries
     where not is_superseded and recorded_us >= ${fromUs - LONGEST_READING_US} and recorded_us < ${toUs + LATEST_RECORD_US} and ${deliveries()}`,
  );
}
