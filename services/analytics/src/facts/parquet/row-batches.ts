import type { DuckDBDataChunk, DuckDBListVector, DuckDBVarCharVector } from "@duckdb/node-api";
import { DELIVERY_SUMS } from "../delivery-sums.ts";
import { GENERATIONS } from "../fact-tables.ts";
import { type DeliveryNumbers, type Facets, type RowNumbers, toDelivered, toRow } from "./rows-of-columns.ts";
import type { DeliveredRow } from "@reprise/facts";

/*
 * Rows leave DuckDB in batches: of each column of numbers a list, which is one array of doubles here, and of each column of text one text for the whole batch. A row as an object of node-api takes
 * 40 us, and each text that is fetched by itself 3 to 5 us: a batch's rows take 4 us each, with all 60 columns.
 *
 * A column with few values (models, status, metadata and the like: `FACETS`) is one text of JSON in each row, which is parsed once for each that differs.
 */

const BATCH_ROWS = 1_024;
/** Between the texts of a batch: in no id, no base64, and escaped in JSON. */
const BREAK = "\n";

const APART = new Set<string>(["generation", "gaps"]);
const NUMBERS = GENERATIONS.fields.filter(({ kind }) => kind === "integer" || kind === "boolean");
const FACETS = GENERATIONS.fields.filter(
  ({ name, kind }) => (kind === "text" || kind === "json") && !APART.has(name),
);
const SUMS = Object.keys(DELIVERY_SUMS).filter((name) => name !== "gaps");

const SQL_TYPES = { text: "varchar", integer: "bigint", boolean: "boolean", json: "varchar" } as const;

/** All columns and no row: beside files of earlier versions, which lack some. */
const NO_ROWS = `select ${GENERATIONS.fields.map(({ name, kind }) => `null::${SQL_TYPES[kind]} as ${name}`).join(", ")} where false`;

/**
 * A statement that reads rows in batches.
 * @param found reads the rows
 * @param delivered reads what their deliveries come to: `sumDeliveries`. Default: rows come without
 */
export function inBatches(found: string, delivered?: string): string {
  const withDelivery = delivered !== undefined;
  const numbers = [
    ...NUMBERS.map(({ name }) => `found.${name}`),
    ...(withDelivery ? SUMS.map((name) => `delivered.${name}`) : []),
  ];
  const texts = [
    `to_json([${FACETS.map(({ name }) => `found.${name}`).join(", ")}])::varchar`,
    "found.generation",
    "found.gaps",
    ...(withDelivery ? ["coalesce(array_to_string(delivered.gaps, ' '), '')"] : []),
  ];
  const joined = `left join (${delivered}) as delivered on found.tenant = delivered.tenant and found.generation = delivered.generation`;
  return `
    with named as (${found} union all by name ${NO_ROWS}),
      found as (select *, row_number() over () as row from named)
    select ${[
      ...numbers.map((name) => `list(coalesce(${name}::double, 'nan'::double))`),
      ...texts.map((text) => `string_agg(${text}, chr(10))`),
    ].join(", ")}
    from found ${withDelivery ? joined : ""}
    group by found.row // ${BATCH_ROWS}`;
}

/** Facets that are remembered: metadata may differ in each row. */
const MOST_FACETS = 10_000;

/** Takes rows out of the chunks of one such statement. */
export class BatchReader {
  readonly #withDelivery: boolean;
  readonly #facets = new Map<string, Facets>();

  constructor(withDelivery: boolean) {
    this.#withDelivery = withDelivery;
  }

  /** @throws TypeError for a row without a value that is never null */
  *rows(chunk: DuckDBDataChunk): Generator<DeliveredRow> {
    for (let batch = 0; batch < chunk.rowCount; batch++) yield* this.#rowsOf(chunk, batch);
  }

  *#rowsOf(chunk: DuckDBDataChunk, batch: number): Generator<DeliveredRow> {
    const sums = this.#withDelivery ? SUMS : [];
    const textsAt = (text: number) => textAt(chunk, NUMBERS.length + sums.length + text, batch).split(BREAK);
    const columns = (names: readonly string[], first: number) =>
      Object.fromEntries(names.map((name, i) => [name, numbersAt(chunk, first + i, batch)]));
    const numbers = columns(
      NUMBERS.map(({ name }) => name),
      0,
    ) as unknown as RowNumbers;
    const [facets, generations, gaps] = [textsAt(0), textsAt(1), textsAt(2)];
    const delivered = columns(sums, NUMBERS.length) as unknown as DeliveryNumbers;
    const deliveredGaps = this.#withDelivery ? textsAt(3) : undefined;
    for (let i = 0; i < facets.length; i++) {
      const delivery = deliveredGaps && toDelivered(delivered, i, deliveredGaps[i] ?? "");
      const texts = { generation: generations[i] ?? "", gaps: gaps[i] ?? "" };
      yield toRow(this.#facetsOf(facets[i] ?? ""), texts, numbers, i, delivery);
    }
  }

  /** They are shared by the rows that have the same. */
  #facetsOf(text: string): Facets {
    let facets = this.#facets.get(text);
    if (facets) return facets;
    if (this.#facets.size >= MOST_FACETS) this.#facets.clear();
    const values = JSON.parse(text) as readonly (string | null)[];
    const found: Record<string, unknown> = Object.fromEntries(FACETS.map(({ name }, i) => [name, values[i]]));
    for (const { name } of NUMBERS) found[name] = 0;
    for (const name of APART) found[name] = "";
    facets = GENERATIONS.toRow(found);
    this.#facets.set(text, facets);
    return facets;
  }
}

function numbersAt(chunk: DuckDBDataChunk, column: number, batch: number): Float64Array {
  const list = chunk.getColumnVector(column) as DuckDBListVector;
  const { items } = list.childVector as unknown as { readonly items: Float64Array };
  const offset = list.getEntryOffset(batch);
  return items.subarray(offset, offset + list.getEntryLength(batch));
}

function textAt(chunk: DuckDBDataChunk, column: number, batch: number): string {
  return (chunk.getColumnVector(column) as DuckDBVarCharVector).getItem(batch) ?? "";
}
