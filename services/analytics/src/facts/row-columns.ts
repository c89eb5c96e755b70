import type { GenerationRow } from "@reprise/metering";
import type { Column } from "@reprise/tables";

/*
 * The columns of `GenerationRow`, in Parquet and as DuckDB finds them. What has no type of its own is JSON.
 */

type Field = keyof GenerationRow;
type Kind = "text" | "integer" | "boolean" | "json";

/** A field without a kind does not compile; one that may be null ends with `?`. */
const FIELDS: Readonly<Record<Field, Kind | `${Kind}?`>> = {
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
};

/** What a row has, in the order of its columns. */
export const ROW_FIELDS = Object.entries(FIELDS).map(([name, kind]) => ({
  name: name as Field,
  kind: kind.replace("?", "") as Kind,
  isNullable: kind.endsWith("?"),
}));

export const ROW_COLUMNS: readonly Column<GenerationRow>[] = ROW_FIELDS.map(({ name, kind, isNullable }) => {
  const type = kind === "json" ? "text" : kind;
  const valueOf = (row: GenerationRow) => (kind === "json" ? JSON.stringify(row[name]) : row[name]);
  return { name, type, valueOf, isNullable } as Column<GenerationRow>;
});

/** A row as a database gives it. @throws TypeError for one without a field */
export function toRow(found: Readonly<Record<string, unknown>>): GenerationRow {
  const fields = ROW_FIELDS.map(({ name, kind }) => {
    const value = found[name];
    if (value === undefined) throw new TypeError(`A row has no ${name}.`);
    if (value === null) return [name, null];
    if (kind === "integer") return [name, Number(value)];
    return [name, kind === "json" && typeof value === "string" ? JSON.parse(value) : value];
  });
  return Object.fromEntries(fields) as GenerationRow;
}
