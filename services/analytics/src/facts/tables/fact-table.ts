import type { Column } from "@reprise/tables";

/** Rows of one kind, in Parquet, in DuckDB and in PostgreSQL. What has no type of its own is JSON. */
export interface FactTable<Row> {
  readonly name: TableName;
  /** What a row has, in the order of its columns. One that comes later is the last, and may be null. */
  readonly fields: readonly FactField<Row>[];
  readonly columns: readonly Column<Row>[];
  /** A row as a database gives it. @throws TypeError for one without a field that is never null */
  readonly toRow: (found: Readonly<Record<string, unknown>>) => Row;
}

/** The first part of the keys of a table's commits; the table's name in PostgreSQL. */
export type TableName = "generations" | "deliveries";

export interface FactField<Row> {
  readonly name: keyof Row & string;
  readonly kind: FieldKind;
  readonly isNullable: boolean;
}

export type FieldKind = "text" | "integer" | "boolean" | "json";

/** @param kinds a field without one does not compile; one that may be null ends with `?` */
export function createFactTable<Row>(
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

/** In a statement of SQL. */
export function columnsOf<Row>({ fields }: FactTable<Row>): string {
  return fields.map(({ name }) => `"${name}"`).join(", ");
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
