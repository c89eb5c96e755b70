import type { DeliveryRow, GenerationRow } from "@reprise/facts";
import type { Column } from "@reprise/facts/tables";

/** Rows of one kind, in Parquet and in DuckDB. A field without a type of its own is JSON. */
export interface FactTable<Row> {
  readonly name: TableName;
  /** The fields of a row, in the order of its columns. A field that is added later comes last, and may be null. */
  readonly fields: readonly FactField<Row>[];
  readonly columns: readonly Column<Row>[];
  /** A row as a database gives it. @throws TypeError for one without a field that is never null */
  readonly toRow: (found: Readonly<Record<string, unknown>>) => Row;
}

/** The first part of the keys of a table's commits. */
export type TableName = "generations" | "deliveries";

export interface FactField<Row> {
  readonly name: keyof Row & string;
  readonly kind: FieldKind;
  readonly isNullable: boolean;
}

type FieldKind = "text" | "integer" | "boolean" | "json";

/** @param kinds a field without one does not compile; one that may be null ends with `?` */
function createFactTable<Row>(
  name: TableName,
  kinds: Readonly<Record<keyof Row & string, FieldKind | `${FieldKind}?`>>,
): FactTable<Row> {
  const fields = Object.entries<FieldKind | `${FieldKind}?`>(kinds).map(([field, kind]) => ({
    name: field as keyof Row & string,
    kind: kind.replace("?", "") as FieldKind,
    isNullable: kind.endsWith("?"),
  }));
  return {
    name,
    fields,
    columns: fields.map(({ name: field, kind, isNullable }) => {
      const type = kind === "json" ? "text" : kind;
      const valueOf = (row: Row) => (kind === "json" ? JSON.stringify(row[field]) : row[field]);
      return { name: field, type, valueOf, isNullable } as Column<Row>;
    }),
    toRow(found) {
      const row: Record<string, unknown> = {};
      for (const field of fields) row[field.name] = toValue(field, found);
      return row as Row;
    },
  };
}

function toValue(
  { name, kind, isNullable }: FactField<never>,
  found: Readonly<Record<string, unknown>>,
): unknown {
  const value = found[name];
  // A file of a version that had no such column has rows without a value there.
  if (value === null || (value === undefined && isNullable)) return null;
  if (value === undefined) throw new TypeError(`A row has no ${name}.`);
  if (kind === "integer") return Number(value);
  return kind === "json" && typeof value === "string" ? JSON.parse(value) : value;
}

/** One row for each generation that has ended. */
export const GENERATIONS = createFactTable<GenerationRow>("generations", {
  tenant: "text",
  generation: "text",
  requested_model: "text",
  model: "text?",
  metadata: "json",
  priority: "text",
  moderation_mode: "text?",
  created_us: "integer",
  ended_us: "integer",
  status: "text",
  finish_reason: "text?",
  code: "text?",
  reason: "text?",
  queue_us: "integer?",
  first_us: "integer?",
  prefill_us: "integer?",
  total_us: "integer",
  tool_wait_us: "integer",
  gaps: "text",
  stalls: "integer",
  stall_us: "integer",
  attempts: "integer",
  takeovers: "json",
  rewinds: "integer",
  events: "integer",
  chunks: "integer",
  tool_calls: "integer",
  input_tokens: "integer?",
  cached_input_tokens: "integer?",
  output_tokens: "integer",
  output_tokens_kept: "integer",
  reasoning_tokens: "integer?",
  uncounted_tokens: "integer",
  redactions: "integer",
  retraction_us: "integer?",
  is_halted: "boolean",
  reviews: "integer",
  was_unmoderated: "boolean",
  clock_steps: "integer",
  is_incomplete: "boolean",
  engine: "text?",
  first_tokens: "integer?",
  estimated_input_tokens: "integer?",
});

/** One row for each connection that has ended, each attempt of a worker, and each report of a client: what OPS says of how a generation reached its readers. */
export const DELIVERIES = createFactTable<DeliveryRow>("deliveries", {
  tenant: "text",
  generation: "text",
  kind: "text",
  recorded_us: "integer",
  reader: "text?",
  protocol: "text?",
  from_seq: "integer?",
  seq: "integer?",
  known_seq: "integer?",
  started_us: "integer?",
  ended_us: "integer?",
  is_finished: "boolean?",
  first_received_us: "integer?",
  first_shown_us: "integer?",
  first_sent_us: "integer?",
  gaps: "text?",
  attempt: "integer?",
  engine_first_us: "integer?",
  append_us: "integer?",
  round_trip_us: "integer?",
  first_text_us: "integer?",
  longest_gap_us: "integer?",
  reconnects: "integer?",
});
