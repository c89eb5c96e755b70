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
import { assertNotTooMany, MINUTE, type MinuteCounts, toParts } from "../row-parts.ts";
import type { Postgres } from "./postgres.ts";
import type { QueryOutcome, RunQuery } from "./run-query.ts";
import { toStorable } from "./row-values.ts";

/** Rows that are in memory at a time. */
const FETCH = 5_000;
/** Rows whose deliveries PostgreSQL joins at a time: each is found by an index. */
const PART_ROWS = 20_000;

/** The rows in the tables of a PostgreSQL. */
export class PostgresRows implements RowSource, AsyncDisposable {
  readonly #postgres: Postgres;

  /** @param postgres is closed with it */
  constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C> {
    return this.#postgres.transaction(async (run) => {
      const consumer = create();
      const counts = await countMinutes(run, query);
      assertNotTooMany(counts, query);
      for (const part of toParts({ ...query, counts }, PART_ROWS)) {
        query.signal?.throwIfAborted();
        const partQuery = { ...query, ...part };
        const { found, values } = toWhere(partQuery);
        const sql = withDelivery(partQuery, found, () => DELIVERIES_OF_FOUND);
        await run(`declare rows no scroll cursor for ${sql}`, values);
        await feedRows(fetchRows(run), consumer, query.signal);
        await run("close rows");
      }
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
async function* fetchRows(run: RunQuery): AsyncGenerator<Iterable<DeliveredRow>> {
  for (;;) {
    const { rows } = await run(`fetch ${FETCH} from rows`);
    yield toRows(rows);
    if (rows.length < FETCH) return;
  }
}

function* toRows(found: QueryOutcome["rows"]): Generator<DeliveredRow> {
  for (const row of found) yield toDeliveredRow(row);
}

async function countMinutes(run: RunQuery, query: RowQuery): Promise<MinuteCounts> {
  const { found, values } = toWhere(query);
  const sql = `select ${MINUTE} as minute, count(*) as rows from (${found}) as found group by 1 order by 1`;
  const { rows } = await run(sql, values);
  return rows.map(({ minute, rows: count }) => ({ minute: Number(minute), rows: Number(count) }));
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
